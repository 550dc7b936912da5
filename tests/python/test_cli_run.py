"""reprise run: arrays from files through a program, and back into files."""

import os

import numpy as np
import pytest

import tiny_llama
from cli import failure, output, reprise
from llama_reference import Llama

ADD = "reprise 1\ninputs 2\n%0 = add in0, in1\n%1 = negate %0\nreturn %0, %1\n"
TURNS = """reprise 1
inputs 0
const0 = 0 : s32
const1 = 1 : s32
const2 = 1000000000 : s32
%0 = while const0 {
  cond {
    %0 = less carry0, const2
    return %0
  }
  body {
    %0 = add carry0, const1
    return %0
  }
}
return %0
"""
A = np.arange(6, dtype="f4").reshape(2, 3)
B = np.array([10, 20, 30], "f4")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "add.rp").write_text(ADD)
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "b.npy", B)
    np.savez(tmp_path / "both.npz", first=A, second=B)
    return tmp_path


def test_to_the_terminal(folder):
    text = output("run", folder / "add.rp", "--input", folder / "a.npy", folder / "b.npy")
    assert text.startswith("out0 : f32[2, 3]\n") and "out1 : f32[2, 3]\n" in text and "-35" in text
    assert output("run", folder / "add.rp", "--input", folder / "both.npz") == text
    assert output("run", folder / "add.rp", "--input", folder / "a.npy", "--input", folder / "b.npy") == text


def test_to_files(folder):
    inputs = ["--input", folder / "a.npy", folder / "b.npy"]
    assert output("run", folder / "add.rp", *inputs, "--output-dir", folder / "new" / "deeper") == ""
    assert output("run", folder / "add.rp", *inputs, "--output", folder / "out.npz") == ""
    for i, wanted in enumerate([A + B, -(A + B)]):
        np.testing.assert_array_equal(np.load(folder / "new" / "deeper" / f"out{i}.npy"), wanted)
        np.testing.assert_array_equal(np.load(folder / "out.npz")[f"out{i}"], wanted)
    # Again into the folder that is there now.
    output("run", folder / "add.rp", *inputs, "--output-dir", folder / "new" / "deeper")


def test_a_model_as_a_program(folder):
    model = tiny_llama.write(folder / "tiny.gguf", default="Q8_0", layers=1)
    output("show", model, "--capacity", "8", "--output", folder / "model.rp")
    cache = np.zeros((1, 8, 2, 16), "f4")
    inputs = [np.array([[65]], "i4"), np.array([[0]], "i4"), np.array(0, "i4"), cache, cache]
    for i, array in enumerate(inputs):
        np.save(folder / f"in{i}.npy", array)
    output("run", folder / "model.rp", "--input", *(folder / f"in{i}.npy" for i in range(5)), "--output",
           folder / "logits.npz")
    logits = np.load(folder / "logits.npz")["out0"]
    np.testing.assert_allclose(logits, Llama(model).logits([65]), atol=1e-4)


@pytest.mark.parametrize("inputs, says", [
    ([], "0 inputs"),
    (["a.npy"], "1 inputs"),
    (["a.npy", "b.npy", "b.npy"], "3 inputs"),
    (["both.npz", "b.npy"], "3 inputs"),
    (["a.npy", "no.npy"], "No such file"),
    (["a.npy", "add.rp"], "wanted a .npy or .npz file"),
    (["a.npy", ""], "wanted a .npy or .npz file"),
    (["a.npy", "five.npy"], "instruction 0 (add)"),
    (["a.npy", "strings.npy"], "strings.npy"),
    (["a.npy", "objects.npy"], "objects.npy"),
    (["a.npy", "empty.npy"], "empty.npy"),
    (["a.npy", "garbage.npy"], "garbage.npy"),
    (["a.npy", "cut.npy"], "cut.npy"),
    (["empty.npz"], "empty.npz"),
    (["garbage.npz"], "garbage.npz"),
    (["cut.npz"], "cut.npz"),
    (["a.npy", "folder.npy"], "directory"),
    (["a.npy", "pipe.npy"], "pipe"),
    (["folder.npz"], "directory"),
    (["pipe.npz"], "pipe"),
])
def test_bad_inputs(folder, inputs, says):
    np.save(folder / "five.npy", np.zeros(5, "f4"))
    np.save(folder / "strings.npy", np.array(["a", "b"]))
    np.save(folder / "objects.npy", np.array([{}, None], object), allow_pickle=True)
    for end in ["npy", "npz"]:
        (folder / f"empty.{end}").write_bytes(b"")
        (folder / f"garbage.{end}").write_bytes(b"\x93NUMPY garbage" * 9)
        (folder / f"folder.{end}").mkdir()
        os.mkfifo(folder / f"pipe.{end}")
    (folder / "cut.npy").write_bytes((folder / "b.npy").read_bytes()[:-3])
    (folder / "cut.npz").write_bytes((folder / "both.npz").read_bytes()[:-30])
    words = [folder / name if name else "" for name in inputs]
    assert says in failure(2, "run", folder / "add.rp", *(["--input", *words] if words else []))


def test_bad_captures(folder):
    (folder / "cap.rp").write_text('reprise 1\ninputs 0\ncap0 = "w" : f32[2]\nreturn cap0\n')
    weights = folder / "cap.safetensors"
    assert "cap.safetensors: cannot open: No such file" in failure(2, "run", folder / "cap.rp")
    header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    whole = len(header).to_bytes(8, "little") + header + bytes(8)
    weights.write_bytes(whole)
    assert "f32[2]" in output("run", folder / "cap.rp")
    for bad in [b"", b"abc", b"garbage" * 20, whole[:20], whole[:-1], whole.replace(b'"w"', b'"v"'),
                whole.replace(b"[2]", b"[9]"), whole.replace(b"F32", b"I32")]:
        weights.write_bytes(bad)
        failure(2, "run", folder / "cap.rp")
    weights.unlink()
    weights.mkdir()
    assert "not a regular file" in failure(2, "run", folder / "cap.rp")
    weights.rmdir()
    os.mkfifo(weights)
    assert "not a regular file" in failure(2, "run", folder / "cap.rp")


def test_outputs_that_cannot_be_written(folder):
    run = ["run", folder / "add.rp", "--input", folder / "a.npy", folder / "b.npy"]
    assert "wanted a .npz file" in failure(2, *run, "--output", folder / "out.npy")
    failure(2, *run, "--output", folder / "no-folder" / "out.npz")
    failure(1, *run, "--output-dir", folder / "a.npy")
    failure(1, *run, "--output-dir", folder / "a.npy" / "x")
    failure(1, *run, "--output-dir", "/proc/none")
    (folder / "taken.npz").mkdir()
    assert "directory" in failure(1, *run, "--output", folder / "taken.npz")
    assert not list(folder.glob(".reprise-*"))  # nothing half-made is left
    with open("/dev/full", "wb") as full:
        done = reprise(*run, stdout=full)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1) and b"No space left" in done.stderr


def test_loops_can_be_limited(folder):
    (folder / "turns.rp").write_text(TURNS)
    assert "100" in failure(1, "run", folder / "turns.rp", "--max-loop-turns", "100")
    for bad in ["-1", "x", "", "1.5", "99999999999999999999"]:
        assert "--max-loop-turns" in failure(2, "run", folder / "turns.rp", "--max-loop-turns", bad)


@pytest.mark.parametrize("words, says", [
    (["--backend", "fast"], "is unknown"),
    (["--backend", "x"], "backend 'x' is unknown; wanted auto, native or mlx"),
    (["--backend="], "backend '' is unknown"),
    (["--device", "gpu9"], "device 'gpu9' is unknown; wanted cpu, cuda or cuda:N"),
    (["--device", "cuda:x"], "device 'cuda:x' is unknown"),
    (["--device", "cuda:99"], "device cuda:99 is not available"),
    (["--threads", "0"], "threads is 0; wanted 1 to 1024"),
    (["--threads", "-1"], "threads is -1"),
    (["--threads", "100000"], "threads is 100000"),
    (["--threads", "two"], "'two' is not a whole number"),
    (["--threads", "99999999999"], "does not fit"),
])
def test_targets(folder, words, says):
    assert says in failure(2, "run", folder / "add.rp", "--input", folder / "both.npz", *words)


@pytest.mark.parametrize("threads", ["1", "2", "1024"])
def test_threads(folder, threads):
    output("run", folder / "add.rp", "--input", folder / "both.npz", "--threads", threads)


def test_outputs_come_together_or_not_at_all(folder):
    (folder / "out").mkdir()
    (folder / "out" / "out1.npy").mkdir()
    failure(1, "run", folder / "add.rp", "--input", folder / "both.npz", "--output-dir", folder / "out", "--output",
            folder / "o.npz")
    assert sorted(os.listdir(folder / "out")) == ["out1.npy"]
    assert not (folder / "o.npz").exists()


def test_a_file_size_limit_is_an_error(folder):
    command = ["prlimit", "--fsize=10"]
    done = reprise("run", folder / "add.rp", "--input", folder / "both.npz", "--output", folder / "o.npz", before=command)
    assert done.returncode == 1, done
    assert done.stderr.startswith(b"reprise: ") and done.stderr.count(b"\n") == 1
    assert not [name for name in os.listdir(folder) if name.startswith(".reprise") or name == "o.npz"]


@pytest.mark.parametrize("value", ["abc", "", "0"])
def test_a_width_that_is_no_number_is_an_error(folder, value):
    message = failure(2, "run", folder / "add.rp", "--input", folder / "both.npz",
                      env={**os.environ, "MLX_BFS_MAX_WIDTH": value})
    assert "MLX_BFS_MAX_WIDTH" in message

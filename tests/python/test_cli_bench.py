"""reprise bench: what it says, what it compares, and what it refuses."""

import json
import shlex

import numpy as np
import pytest

from cli import failure, output

# One result of each kind that --check treats in its own way.
MIXED = """reprise 1
inputs 2
%0 = dot in0, in1 {contract_a = [1], contract_b = [0]}
%1 = argmax %0 {axis = 1}
%2 = fft %0 {axis = 0, length = 4}
return %0, %1, %2
"""
ADD = "reprise 1\ninputs 2\n%0 = add in0, in1\nreturn %0\n"
FOREVER = """reprise 1
inputs 1
%0 = while in0 {
  cond {
    %0 = equal carry0, carry0
    return %0
  }
  body {
    return carry0
  }
}
return %0
"""
QUICK = ["--repeat", "5"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mixed.rp").write_text(MIXED)
    (tmp_path / "add.rp").write_text(ADD)
    (tmp_path / "forever.rp").write_text(FOREVER)
    np.save(tmp_path / "a.npy", np.arange(6, dtype="f4").reshape(2, 3))
    np.savez(tmp_path / "both.npz", first=np.ones((4, 3), "f4"), second=np.ones((3, 5), "f4"))
    return tmp_path


def timed(*words):
    seen = json.loads(output("bench", *words, "--json"))
    assert 0 < seen["least_ms"] <= seen["lower_quartile_ms"] <= seen["median_ms"] <= seen["upper_quartile_ms"]
    assert seen["compile_ms"] > 0 and seen["compile_first_ms"] > 0 and seen["first_run_ms"] > 0
    return seen


def test_lines(folder):
    text = output("bench", folder / "mixed.rp", "--input", "f32[4,3]", "f32[3, 5]", "--check", *QUICK)
    words = [line.split()[0] for line in text.splitlines()]
    assert words[1:] == ["compile", "replay", "rate", "answer", "again"]
    assert "5 runs" in text and "GFLOP/s" in text and "agrees with mlx" in text


def test_json_and_again(folder):
    seen = timed(folder / "mixed.rp", "--input", "f32[4,3]", "f32[3, 5]", "--seed", "7", "--check", *QUICK)
    assert seen["inputs"] == ["f32[4, 3]", "f32[3, 5]"] and seen["instructions"] == 3 and seen["runs"] == 5
    assert seen["backend"] in ("native", "mlx")  # what ran, not "auto"
    assert seen["bytes"] == 4 * (12 + 15 + 20 + 4) + 8 * 20
    assert seen["product_operations"] == 2 * 4 * 3 * 5
    assert seen["check"]["error"] <= seen["check"]["tolerance"]
    # The line that it prints gives the same answer again, and another seed another one.
    words = shlex.split(seen["command"])
    assert words[:2] == ["reprise", "bench"]
    assert timed(*words[2:])["checksum"] == seen["checksum"]
    other = timed(folder / "mixed.rp", "--input", "f32[4,3]", "f32[3, 5]", "--seed", "8", *QUICK)
    assert other["checksum"] != seen["checksum"] and "check" not in other


def test_files_and_types_together(folder):
    from_files = timed(folder / "mixed.rp", "--input", folder / "both.npz", *QUICK)
    assert from_files["inputs"] == ["f32[4, 3]", "f32[3, 5]"]
    mixed = timed(folder / "add.rp", "--input", folder / "a.npy", "--input", "f32[3]=1..1", "--check", *QUICK)
    assert mixed["inputs"] == ["f32[2, 3]", "f32[3]"] and mixed["check"]["error"] == 0


def test_every_dtype_and_its_ranges(folder):
    (folder / "id.rp").write_text("reprise 1\ninputs 1\n%0 = reduce_min in0 {axes = [0]}\n%1 = reduce_max in0 "
                                  "{axes = [0]}\nreturn %0, %1\n")
    (folder / "same.rp").write_text("reprise 1\ninputs 1\nreturn in0\n")
    for dtype in "bool u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64 c64".split():
        assert timed(folder / "same.rp", "--input", f"{dtype}[5]", "--check", *QUICK)["check"]["error"] == 0
    # Where only one value is left, the answer does not depend on the seed.
    for one in ["u64[3]=18446744073709551615..18446744073709551615",
                "s64[3]=-9223372036854775808..-9223372036854775808", "s8[3]=-128..-128", "f32[3]=0.5..0.5",
                "bool[3]=1..1"]:
        a, b = (timed(folder / "id.rp", "--input", one, "--seed", seed, *QUICK)["checksum"] for seed in "12")
        assert a == b
    for wide in ["u64[300]=0..18446744073709551615", "s64[300]=-9223372036854775808..9223372036854775807"]:
        a, b = (timed(folder / "id.rp", "--input", wide, "--seed", seed, *QUICK)["checksum"] for seed in "12")
        assert a != b


def test_time_and_short_runs(folder):
    assert timed(folder / "add.rp", "--input", "f32[]", "f32[]", "--time", "0.01")["runs"] >= 3
    assert timed(folder / "add.rp", "--input", "f32[0]", "f32[0]", "--repeat", "1")["runs"] == 1


@pytest.mark.parametrize("words, says", [
    ([], "program is required"),
    (["no.rp"], "No such file"),
    (["add.rp"], "0 inputs given; the program takes 2"),
    (["add.rp", "--input", "f32[1]"], "1 inputs given; the program takes 2"),
    (["add.rp", "--input", "f32[1]", "f32[1]", "f32[1]"], "3 inputs given"),
    (["add.rp", "--input", "f32[2]", "f32[3]"], "instruction 0 (add)"),
    (["add.rp", "--input", "f32[2]", "f99[3]"], "input 'f99[3]': wanted a type"),
    (["add.rp", "--input", "f32[2]", "f32[-1]"], "input 'f32[-1]': wanted a type"),
    (["add.rp", "--input", "f32[2]", ""], "input '': wanted a type"),
    (["add.rp", "--input", "f32[2]", "no.npy"], "No such file"),
    (["add.rp", "--input", "f32[99999999999]", "f32[1]"], "input 'f32[99999999999]'"),
    (["add.rp", "--input", "u8[3000000000]", "u8[1]"], "3000000000"),
    (["add.rp", "--input", "f32[4294967296, 4294967296, 4294967296]", "f32[1]"], "more memory"),
    (["add.rp", "--input", "s8[2]=0..128", "s8[2]"], "the range is '0..128'; wanted LOW..HIGH"),
    (["add.rp", "--input", "u8[2]=-1..1", "s8[2]"], "the range is '-1..1'"),
    (["add.rp", "--input", "s32[2]=5..4", "s8[2]"], "the range is '5..4'"),
    (["add.rp", "--input", "s32[2]=5", "s8[2]"], "the range is '5'"),
    (["add.rp", "--input", "s32[2]=1.5..2", "s8[2]"], "the range is '1.5..2'"),
    (["add.rp", "--input", "f32[2]=0..inf", "s8[2]"], "the range is '0..inf'; wanted LOW..HIGH, finite numbers"),
    (["add.rp", "--input", "f32[2]=nan..nan", "s8[2]"], "the range is 'nan..nan'"),
    (["add.rp", "--input", "bool[2]=0..2", "s8[2]"], "the range is '0..2'; wanted 0..1"),
    (["add.rp", "--time", "0"], "--time is 0"),
    (["add.rp", "--time", "-1"], "--time is -1"),
    (["add.rp", "--time", "nan"], "--time is nan"),
    (["add.rp", "--time", "inf"], "--time is inf"),
    (["add.rp", "--time", "1e9"], "--time is 1000000000"),
    (["add.rp", "--time", "soon"], "'soon' is not a number"),
    (["add.rp", "--repeat", "0"], "--repeat is 0"),
    (["add.rp", "--repeat", "-3"], "--repeat is -3"),
    (["add.rp", "--repeat", "99999999999"], "--repeat is 99999999999"),
    (["add.rp", "--repeat", "1.5"], "'1.5' is not a whole number"),
    (["add.rp", "--repeat", "5", "--time", "1"], "--repeat"),
    (["add.rp", "--seed", "-1"], "'-1'"),
    (["add.rp", "--tolerance", "0.1"], "--tolerance goes with --check"),
    (["add.rp", "--check", "--tolerance", "-1"], "--tolerance is -1"),
    (["add.rp", "--check", "--tolerance", "nan"], "--tolerance is nan"),
    (["add.rp", "--backend", "fast"], "backend 'fast' is unknown"),
    (["add.rp", "--threads", "0"], "0"),
])
def test_refused(folder, monkeypatch, words, says):
    monkeypatch.chdir(folder)
    assert says in failure(2, "bench", *words)


def test_a_program_that_fails_or_never_ends(folder):
    (folder / "solve.rp").write_text("reprise 1\ninputs 2\n%0 = solve in0, in1\nreturn %0\n")
    message = failure(1, "bench", folder / "solve.rp", "--input", "f32[2, 2]=0..0", "f32[2, 1]", *QUICK)
    assert "instruction 0 (solve): a is singular" in message
    message = failure(1, "bench", folder / "forever.rp", "--input", "f32[]", "--max-loop-turns", "100", *QUICK)
    assert "100" in message

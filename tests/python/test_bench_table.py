"""bench/table.py: its programs are good, it runs, and it says when an answer is wrong."""

import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

from cli import output

BENCH = pathlib.Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import report  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402

INPUTS = rows.make_inputs(0)
SHORT = {"float32": "f32", "int32": "s32", "uint32": "u32", "uint16": "u16"}


@pytest.mark.parametrize("row", rows.ROWS, ids=lambda row: row.name)
def test_programs_fit_their_inputs(row, tmp_path):
    program = tmp_path / "row.rp"
    text = rows.program_text(row.program)
    # check reads captured arrays too; zeros will do.
    header, data = {}, b""
    for key, name in row.captures:
        array = INPUTS[name]
        dtype = {"float32": "F32", "uint32": "U32"}[array.dtype.name]
        header[key] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += bytes(array.nbytes)
    if header:
        words = json.dumps(header).encode()
        program.with_suffix(".safetensors").write_bytes(len(words).to_bytes(8, "little") + words + data)
    program.write_text(text)
    arrays = [rows.to_bf16_bits(INPUTS[name]) if row.bf16 else INPUTS[name] for name in row.inputs]
    types = [f"{SHORT[a.dtype.name]}{list(a.shape)}" for a in arrays]
    assert ": good: " in output("check", program, "--input", *types)


def test_each_program_has_a_row():
    assert {path.stem for path in rows.PROGRAMS.glob("*.rp")} == {r.program for r in rows.ROWS} - set(rows.TURNS)


def test_inputs():
    again = rows.make_inputs(0)
    other = rows.make_inputs(1)
    for name, array in INPUTS.items():
        np.testing.assert_array_equal(array, again[name])
    assert not np.array_equal(INPUTS["a"], other["a"])
    assert np.unique(INPUTS["distinct"]).size == INPUTS["distinct"].size
    for i in range(8):
        np.testing.assert_array_equal(INPUTS["q_words"] >> np.uint32(4 * i) & np.uint32(15), INPUTS["q_codes"][:, i::8])
    bits = rows.to_bf16_bits(np.array([1, -2, 1 + 2**-8, 1 + 3 * 2**-8], "f4"))
    np.testing.assert_array_equal(bits, np.array([0x3F80, 0xC000, 0x3F80, 0x3F82], "u2"))


@pytest.mark.parametrize("ours, theirs, apart", [
    ([1.0, -4.0], [1.0, -4.0], 0),
    ([1.0, -4.0], [2.0, -4.0], 0.25),
    ([[1.0], [2.0]], [1.0, 2.0], 0),  # axes of size 1 do not matter
    ([1.0, 2.0, 3.0, 4.0], [[1.0, 2.0], [3.0, 4.0]], 0),  # ours flattened
    ([1.0, 2.0], [1.0, 2.0, 3.0], None),
    ([1j, 2.0], [1j, 2j], 2**0.5),
])
def test_difference(ours, theirs, apart):
    row = rows.Row("any", "one")
    seen = table.difference(row, np.array(ours), np.array(theirs))
    assert seen == apart if apart is None else seen == pytest.approx(apart)
    assert table.difference(rows.Row("any", "one", absolute=True), np.array([-1.0]), np.array([1.0])) == 0


def test_a_nan_is_never_an_agreement():
    assert not table.difference(rows.Row("any", "one"), np.array([np.nan]), np.array([1.0])) <= 1


def run(tmp_path, *words):
    command = [sys.executable, BENCH / "table.py", "--reprise", os.environ["REPRISE"], "--backend", "mlx", "--threads",
               "1", "--rounds", "2", "--seconds", "0.01", "--out", tmp_path / "new" / "t", *words]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, env=environment)


def test_a_session_with_one_peer(tmp_path):
    done = run(tmp_path, "--peers", "mlx", "--only", "replay of|svd|compile 1,000")
    assert done.returncode == 0, done.stderr
    seen = json.loads((tmp_path / "new" / "t.json").read_text())
    assert [row["name"] for row in seen["rows"]] == ["svd 128", "replay of 1 add of 1 element",
                                                     "compile 1,000 instructions"]
    for row in seen["rows"]:
        assert row["ratio"] > 0 and len(row["ratios"]) == 2 and row["peers"]["mlx"].get("agrees", True)
    assert (tmp_path / "new" / "t.md").read_text().strip() == done.stdout.strip()
    xml.etree.ElementTree.parse(tmp_path / "new" / "t.svg")


@pytest.mark.parametrize("words, says", [
    (["--peers", "numpy"], "unknown numpy"),
    (["--only", "no such row"], "no row has such a name"),
    (["--only", "("], "--only '('"),
    (["--threads", "100000"], "--threads 100000"),
    (["--rounds", "0"], "must be positive"),
    (["--seconds", "nan"], "must be positive"),
    (["--reprise", "/no/such/file"], "no such file"),
    (["--model", "/no/such/file"], "no such file"),
])
def test_refused(tmp_path, words, says):
    done = run(tmp_path, *words)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr


def test_report_of_wrong_and_failed_rows():
    times = {"median": 2.0, "lower": 1.0, "upper": 3.0, "least": 0.5, "rounds": [2.0]}
    wrong = times | {"agrees": False, "difference": 0.5}
    seen = {"machine": {"cpu": "a CPU", "load": 0.0}, "threads": 1, "rounds": 1, "seconds": 1, "seed": 0,
            "statistic": "median", "backend": "native", "versions": {"ours": "Reprise 1"}, "rows": [
                {"name": "a < b", "goal": 1.0, "tolerance": 0.1, "ours": times, "peers": {"jax": wrong}},
                {"name": "c", "goal": 1.0, "tolerance": 0.1, "ours": {"error": "broken"}, "peers": {"jax": times}},
                {"name": "d", "goal": 1.0, "tolerance": 0.1, "ours": times, "peers": {"jax": times}, "best": "jax",
                 "ratio": 1.0, "ratios": [1.0]}]}
    text = report.markdown(seen)
    assert "| a < b | 2 ms (1 ms - 3 ms) | 2 ms (1 ms - 3 ms), wrong | - | - | 1 | no peer |" in text
    assert "| c | failed | 2 ms (1 ms - 3 ms) | - | - | 1 | failed |" in text and "c, Reprise: broken" in text
    assert "| d | 2 ms (1 ms - 3 ms) | 2 ms (1 ms - 3 ms) | 1.00 | 1 - 1 | 1 | met |" in text
    assert "the answer is 0.5 away from ours; allowed 0.1" in text
    xml.etree.ElementTree.fromstring(report.svg(seen))

"""docs/public-faults.md lists every fault, with tests that exist; docs/differences.md has a tested case for each."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "public-faults.md"

# The catalogue's numbers; those that are missing between them were dropped.
NUMBERS = """
B01 B03 B04 B06 B07 B09 B10 B11 B13 B14 B16 B17 B19 B20 B21 B23 B24 B26 B27 B29 B30 B31 B33 B34 B36 B37 B39 B40 B41 B43
B44 B46 B47 B49 B50 B51 B53 B54 B56 B57 B59 B60 B61 B63 B64 B66 B67 B69 B70 B71 B73 B74 B76 B77 B79 B80 B81 B83 B84 B86
B87 B89 B90 B91 B93 B94 B96 B97 B99 B100 B101 B103 B104 B106 B107 B109 B110 B111 B113 B114 B116 B117 B119 B120 B121 B123
B124 B126 B127 B129 B130 B131 B133 B134 B136 B137 B139 B140 B141 B143 B144 B146 B147 B149 B150 B151 B153 B154 B156 B157
B159 B160 B161 B163 B164 S01 S02 S03 S04 S05 S08 S09 S10 S11 S12
""".split()


def rows() -> dict[str, str]:
    found = re.findall(r"^\| ([BS]\d+) \| ([^|]+) \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE)
    assert len(found) == len({number for number, _, _ in found}), "a number is listed twice"
    return {number: tests for number, _, tests in found}


@pytest.fixture(scope="module")
def built() -> set[str]:
    """The names that ctest knows."""
    ctest = shutil.which("ctest")
    assert ctest, "ctest is missing"
    listed = subprocess.run([ctest, "--test-dir", os.environ["REPRISE_BUILD"], "-N"], capture_output=True, text=True,
                            check=True).stdout
    return set(re.findall(r"^ *Test +#\d+: (\S+)", listed, re.MULTILINE))


def mentions(number: str, text: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9]){number}(?!\d)", text) is not None


def test_every_number_is_listed():
    assert list(rows()) == NUMBERS


def test_every_row_has_a_test_or_says_what_it_waits_for():
    for number, tests in rows().items():
        assert "`" in tests or ".cases)" in tests or "waits for" in tests, number


def test_named_tests_exist(built):
    for number, tests in rows().items():
        for name in re.findall(r"`([^`]+)`", tests):
            assert name in built, f"{number}: no test is called {name}"


def test_named_case_files_mention_the_number():
    for number, tests in rows().items():
        for path in re.findall(r"\(\.\./(src/ops/[^)]+)\)", tests):
            assert mentions(number, (ROOT / path).read_text()), f"{number}: {path} has no case with that number"


def test_tests_that_carry_a_number_are_listed(built):
    table = rows()
    for path in sorted((ROOT / "src" / "ops").glob("*/*.cases")):
        for number in re.findall(r"\b[BS]\d{2,3}\b", path.read_text()):
            assert path.name in table.get(number, ""), f"{number} of {path.name} is not in {PAGE.name}"
    for name in built:
        for number in re.findall(r"(?<![A-Za-z0-9])([BS]\d{2,3})(?!\d)", name):
            assert f"`{name}`" in table.get(number, ""), f"{name} is not in {PAGE.name}"


def test_each_difference_is_listed_and_has_a_case():
    page = (ROOT / "docs" / "differences.md").read_text()
    cases = "\n".join(path.read_text() for path in (ROOT / "src" / "ops").glob("*/*.cases"))
    for number in [f"Q{i}" for i in range(1, 21)] + [n for n in NUMBERS if n.startswith("S")]:
        assert f"| {number} |" in page, f"{number} is not in differences.md"
        assert mentions(number, cases), f"no case carries {number}"

"""Every op of the table has a reference, and every reference has cases for each of its dtypes."""

import importlib
from pathlib import Path

import pytest

import framework
import reprise

FAMILIES = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__))
for family in FAMILIES:
    importlib.import_module(family)


def test_every_op_has_a_reference():
    ops = {op["name"] for op in reprise.ops()}
    assert sorted(framework.REFERENCES) == sorted(ops)
    assert len(ops) == 135


@pytest.mark.parametrize("op", sorted(framework.REFERENCES))
def test_every_reference_has_cases(op):
    ref = framework.REFERENCES[op]
    assert ref.dtypes
    for dtype in ref.dtypes:
        rng = framework.generator(op, dtype)
        assert any(True for _ in zip(range(1), ref.cases(rng, dtype))), f"{op} has no case for {dtype}"

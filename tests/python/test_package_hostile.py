"""What no caller should pass to the package `reprise`: each is a clear error, and the process goes on."""

import datetime
import os

import numpy as np
import pytest

import reprise


def compiled(write, inputs=1, **options):
    b = reprise.Builder()
    return reprise.compile(b.build(write(b, *[b.input() for _ in range(inputs)])), **options)


DOUBLE = compiled(lambda b, x: [x + x])


@pytest.fixture(autouse=True)
def still_works():
    yield
    assert DOUBLE(21.0)[0].item() == 42


class Raises:
    shape, dtype = (2,), np.dtype("f4")

    def __dlpack__(self, **_):
        raise RuntimeError("no")

    def __dlpack_device__(self):
        return (1, 0)

    def __array__(self, *_, **__):
        raise RuntimeError("neither")


class OnAnotherDevice:
    def __init__(self):
        self.x = np.ones(3, np.float32)

    def __dlpack__(self, **_):
        return reprise.array(self.x).__dlpack__()

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize("value", [
    None, "text", object(), {}, {1: 2}, set(), int, np.float32, lambda: 0, Ellipsis, datetime.date(2000, 1, 1),
    np.array([1, "a"], object), np.array(["a"]), np.array([b"a"]), np.array(["2000"], "M8[D]"), np.array([1], "m8[s]"),
    np.zeros(2, [("a", "f4"), ("b", "f4")]), np.zeros(3, np.complex128), 1j * np.ones(2), np.zeros(2, np.longdouble),
    np.zeros(2, "V4"), [object()], ["a"], [None], np.array(object()), np.datetime64("now"),
], ids=repr)
def test_what_is_no_array(value):
    with pytest.raises(TypeError, match="input 0: .*(wanted|dtype)"):
        DOUBLE(value)
    with pytest.raises(TypeError):
        reprise.array(value)
    with pytest.raises(TypeError):
        reprise.Builder().capture(value)


def test_ragged_lists_raise_what_numpy_raises():
    with pytest.raises(ValueError):
        DOUBLE([[1], [1, 2]])
    with pytest.raises(ValueError):
        DOUBLE([[1, 2], ["a"]])


def test_arrays_that_raise():
    with pytest.raises(RuntimeError, match="neither"):
        DOUBLE(Raises())


def test_lists_in_themselves():
    x = []
    x.append(x)
    with pytest.raises((TypeError, ValueError, RecursionError)):
        DOUBLE(x)


def test_huge_broadcasts_are_refused_before_memory_is_taken():
    for shape in [(2 ** 31 - 1, 2 ** 31 - 1), (2 ** 20, 2 ** 20, 2 ** 20), (2 ** 31,), (2 ** 40,), (2 ** 62, 2)]:
        try:
            x = np.broadcast_to(np.float32(1), shape)
        except ValueError:
            continue  # too large for NumPy
        with pytest.raises(reprise.Error) as e:
            DOUBLE(x)
        assert e.value.code == "limit"


def test_huge_results_are_refused():
    grow = compiled(lambda b, x: [b.broadcast(x, shape=[2 ** 20, 2 ** 20, 2 ** 10], axes=[]) * 2.0])
    with pytest.raises(reprise.Error) as e:
        grow(1.0)
    assert e.value.code in ("limit", "infer")


@pytest.mark.parametrize("inputs", [[], [1.0, 2.0], 3, None, "ab", {1.0: 2, 2.0: 3}, iter([1.0, 2.0])])
def test_other_numbers_of_inputs(inputs):
    with pytest.raises((reprise.Error, TypeError)):
        DOUBLE.run(inputs)


def test_input_iterables_that_raise():
    def inputs():
        yield 1.0
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        DOUBLE.run(inputs())


@pytest.mark.parametrize("options", [{"cancel": 3}, {"max_loop_turns": "x"}, {"max_loop_turns": 2 ** 70},
                                     {"nonsense": 1}, {"donate": object()}, {"donate": None}])
def test_other_options(options):
    with pytest.raises(TypeError):
        DOUBLE.run([1.0], **options)
    with pytest.raises(TypeError):
        DOUBLE(1.0, **options)


@pytest.mark.parametrize("axis", [-2, -1, 1, 2, 2 ** 31, -2 ** 31, 2 ** 63 - 1, -2 ** 63])
def test_axes_out_of_range(axis):
    x = np.arange(3, dtype=np.float32)
    try:
        [out] = compiled(lambda b, x: [b.sum(x, axes=[axis])])(x)
    except reprise.Error as e:
        assert axis != -1 and e.code in ("infer", "verify")
    else:
        assert axis == -1 and out.item() == 3


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e300, -0.0, 5e-324])
def test_odd_numbers(value):
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(DOUBLE(value)[0].numpy(), np.float32(value) + np.float32(value))
    np.testing.assert_array_equal(DOUBLE(np.float64(value))[0].numpy(), np.float64(value) + np.float64(value))
    [out] = compiled(lambda b, x: [b.constant(value, "float64")])(0)
    np.testing.assert_array_equal(out.numpy(), value)


@pytest.mark.parametrize("text", ["", "reprise 1", "reprise 2\n", "\0", "reprise 1\n" * 1000, "{" * 100000, "é" * 1000,
                                  "reprise 1\ninputs 99999999999999999999\nreturn in0\n"])
def test_texts_that_are_no_programs(text):
    with pytest.raises(reprise.Error):
        reprise.Program.parse(text).check()


@pytest.mark.parametrize("call", [
    lambda: reprise.Program(), lambda: reprise.Executable(), lambda: reprise.Array(), lambda: reprise.Value(),
    lambda: reprise.TextModel(), lambda: reprise.Program.parse(b"x"), lambda: reprise.Program.parse(None),
    lambda: reprise.Program.load(3.5), lambda: reprise.Program.from_wire("x"), lambda: reprise.TensorType("f32", 3),
    lambda: reprise.TensorType("f32", ["a"]), lambda: reprise.TensorType(None, []), lambda: reprise.compile(None),
    lambda: reprise.CancelToken(1),
    lambda: reprise.Builder().input(3), lambda: reprise.Builder().op("add"),
    lambda: reprise.Builder().build(None), lambda: reprise.Program.parse("reprise 1\nreturn\n", captures=3),
])
def test_calls_that_do_not_fit(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("dtype", ["", "f33", "object", "float128", "x" * 10000, 3, "\0", object(), np.dtype("O"),
                                   str])
def test_dtypes_that_are_none(dtype):
    with pytest.raises(reprise.Error, match="dtype .* is unknown") as e:
        reprise.TensorType(dtype, [])
    assert e.value.code == "invalid_argument" and len(str(e.value)) < 300


def test_dtypes_in_every_spelling():
    for dtype in ("float32", "f32", np.float32, np.dtype("f4"), np.dtype("float32")):
        assert reprise.TensorType(dtype, []).dtype == "float32"
    for dtype in ("bool", np.bool_, bool, np.dtype("?")):
        assert reprise.TensorType(dtype, []).dtype == "bool"
    mx = pytest.importorskip("mlx.core")
    assert reprise.TensorType(mx.bfloat16, []).dtype == "bfloat16"


def test_a_path_with_a_zero_byte(tmp_path):
    p = reprise.Program.parse("reprise 1\ninputs 1\nreturn in0\n")
    with pytest.raises(ValueError, match="null"):
        p.save(f"{tmp_path}/a\0.rp")
    with pytest.raises(ValueError, match="null"):
        reprise.Program.load(f"{tmp_path}/a\0.rp")
    assert list(tmp_path.iterdir()) == []


def test_text_that_is_no_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe.rp"
    reprise.Program.parse("reprise 1\ninputs 1\nreturn in0\n").save(path)
    assert reprise.Program.load(path).n_inputs == 1 == reprise.Program.load(os.fsdecode(path)).n_inputs
    (tmp_path / "bad.rp").write_bytes(b"reprise 1\ninputs 1\n%0 = \xff\xfe in0\nreturn %0\n")
    with pytest.raises(reprise.Error) as e:
        reprise.Program.load(tmp_path / "bad.rp").check()
    assert e.value.code in ("parse", "verify")
    wire = reprise.Program.parse("reprise 1\ninputs 1\n%0 = abs in0\nreturn %0\n").to_wire()
    odd = reprise.Program.from_wire(wire.replace(b"abs", b"\xff\xfes"))
    assert odd.faults() and "\\x" in str(odd) and repr(odd)
    with pytest.raises(reprise.Error, match="verify"):
        reprise.compile(odd)


@pytest.mark.parametrize("call", [
    lambda: reprise.TensorType("\ud800", []), lambda: reprise.Program.parse("\ud800"),
    lambda: reprise.Builder().op("\ud800", []), lambda: reprise.Builder().op("iota", [], **{"\ud800": 1}),
    lambda: reprise.Builder().op("iota", [], axis="\ud800"), lambda: reprise.load_model("\ud800"),
    lambda: reprise.Program.load("\ud800"), lambda: reprise.compile(reprise.Program.parse("reprise 1\n"), "\ud800"),
])
def test_text_that_cannot_be_encoded(call):
    with pytest.raises((reprise.Error, TypeError, ValueError)):
        call()


def test_exceptions_that_cannot_be_shown():
    class Evil(Exception):
        def __str__(self):
            raise RuntimeError("no text")

    def answer(*_):
        raise Evil

    b = reprise.Builder()
    exe = reprise.compile(b.build(b.runtime_call(b.input(), callback=0, results=[("f32", [])])))
    with pytest.raises(reprise.Error, match="Evil") as e:
        exe.run([1.0], callback=answer)
    assert isinstance(e.value.__cause__, Evil)


def test_names_of_captures():
    for name in ("", "é", "a\nb", "x" * 100000, "__metadata__", "\0"):
        b = reprise.Builder()
        p = b.build([b.input() + b.capture(np.ones(2, np.float32), name)])
        assert p.captures[0][0] == name
        assert reprise.Program.parse(p.text, [value for _, value in p.captures]) == p
    with pytest.raises((UnicodeEncodeError, TypeError)):
        reprise.Builder().capture(np.ones(2), "\ud800")


def test_deep_loops_are_refused():
    b = reprise.Builder()

    def nest(depth, x):
        if depth == 0:
            return x + 1
        return b.while_loop([x], lambda x: x < 1, lambda x: nest(depth - 1, x))[0]

    with pytest.raises(reprise.Error):
        b.build([nest(100, b.input())])


def test_builders_used_inside_out():
    b = reprise.Builder()
    x = b.input()
    with pytest.raises(reprise.Error, match="outer list"):
        b.while_loop([x], lambda y: x > 0, lambda y: y)
    other = reprise.Builder()
    with pytest.raises(reprise.Error, match="inside a loop"):
        other.while_loop([other.input()], lambda y: y > 0, lambda y: other.build([y]) and y)


def test_device_arrays_of_others():
    try:
        [out] = DOUBLE(OnAnotherDevice())
    except (reprise.Error, TypeError):
        pass
    else:
        assert out.tolist() == [2, 2, 2]  # the capsule says CPU, whatever the object says


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrices():
    np.testing.assert_array_equal(DOUBLE(np.matrix([[1.0, 2.0]]))[0].numpy(), [[2.0, 4.0]])


def test_masked_arrays_are_not_taken_for_plain_ones():
    with pytest.raises(TypeError, match="mask"):
        DOUBLE(np.ma.masked_array([1.0, 2.0], [True, False]))

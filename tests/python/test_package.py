"""The package `reprise`: programs are built, checked, written, read and run. NumPy judges the numbers."""

import json
import os
import pathlib
import re
import subprocess
import textwrap
import threading

import numpy as np
import pytest

import reprise

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",
          "float64", "complex64"]


def program_of(write, inputs=1):
    b = reprise.Builder()
    return b.build(write(b, *[b.input() for _ in range(inputs)]))


def run(write, *inputs, **options):
    """The outputs of a program that write(builder, *inputs) makes, as NumPy arrays."""
    return [np.asarray(out) for out in reprise.compile(program_of(write, len(inputs)))(*inputs, **options)]


def sample(dtype, shape=(2, 3), seed=1):
    values = np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 100, shape)
    return values.astype(dtype) * (1 + 2j if dtype == "complex64" else np.ones((), dtype))


# --- building


def test_the_example_of_the_module_works():
    exec(textwrap.dedent(re.search(r" *import numpy.*", reprise.__doc__, re.DOTALL).group()), {})


def test_operators_write_the_ops_that_they_stand_for():
    x = np.array([1.5, -2.0, 4.0], np.float32)
    y = np.array([2.0, 3.0, -1.0], np.float32)
    outs = run(lambda b, x, y: [x + y, x - y, x * y, x / y, -x, abs(x), x ** 2.0, 1.0 - x, 2 * x, x == y, x != y, x < y,
                                x <= y, x > y, x >= 1.5], x, y)
    wanted = [x + y, x - y, x * y, x / y, -x, abs(x), x ** 2, 1 - x, 2 * x, x == y, x != y, x < y, x <= y, x > y,
              x >= 1.5]
    for out, want in zip(outs, wanted, strict=True):
        np.testing.assert_array_equal(out, want)


def test_integer_operators():
    x = np.array([6, 3, 12], np.int32)
    y = np.array([3, 1, 2], np.int32)
    outs = run(lambda b, x, y: [x & y, x | y, x ^ y, x << y, x >> y, ~x, 7 & x, 1 << y], x, y)
    for out, want in zip(outs, [x & y, x | y, x ^ y, x << y, x >> y, ~x, 7 & x, 1 << y], strict=True):
        np.testing.assert_array_equal(out, want)
        assert out.dtype == np.int32


def test_matmul():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    (by_operator, by_name) = run(lambda b, x, y: [x @ y, b.matmul(x, y)], a, a.T.copy())
    np.testing.assert_allclose(by_operator, a @ a.T)
    np.testing.assert_allclose(by_name, a @ a.T)


def test_python_numbers_become_the_documented_constants():
    p = program_of(lambda b, x: [b.constant(c) for c in (True, 3, 2 ** 31, 2 ** 63, 1.5, 1j)])
    assert [str(t) for t in p.check([("f32", [])])] == ["bool[]", "s32[]", "s64[]", "u64[]", "f32[]", "c64[]"]


def test_constants_keep_their_value_and_take_a_dtype():
    (a, b, c) = run(lambda b, x: [b.constant(300, "uint8"), b.constant(np.float64(0.1)), b.constant(2.5, np.int16)],
                    np.float32(0))
    assert (a.item(), a.dtype) == (255, np.uint8)  # saturates, as the contract says
    assert (b.item(), b.dtype) == (0.1, np.float64)
    assert (c.item(), c.dtype) == (2, np.int16)


def test_every_op_is_a_documented_method():
    table = reprise.ops()
    assert len(table) >= 135
    for op in table:
        if op["name"] == "while":
            continue
        documentation = getattr(reprise.Builder, op["name"]).__doc__
        assert op["summary"] in documentation and op["rule"] in documentation, op["name"]
        for attribute in op["attributes"]:
            assert f"{attribute['name']}: {attribute['summary']}" in documentation


def test_ops_is_what_the_command_line_prints():
    command = os.environ.get("REPRISE")
    if not command:
        pytest.skip("REPRISE names no command")
    printed = json.loads(subprocess.run([command, "ops", "--json"], capture_output=True, check=True).stdout)
    assert reprise.ops() == printed


def test_op_by_name_and_attributes_of_each_kind():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    outs = run(lambda b, x: [b.op("sum", [x], axes=[0, 2]), b.sum(x, axes=(1,), keep_axes=True),
                             b.astype(x, dtype="int32"), b.astype(x, dtype=np.int8), b.astype(x, dtype=np.dtype("f8")),
                             b.op("transpose", [x], axes=np.array([2, 0, 1])), 
                             b.argmax(x, axis=np.int64(1))], x)
    np.testing.assert_allclose(outs[0], x.sum((0, 2)))
    np.testing.assert_allclose(outs[1], x.sum(1, keepdims=True))
    assert [o.dtype for o in outs[2:5]] == [np.int32, np.int8, np.float64]
    np.testing.assert_array_equal(outs[5], x.transpose(2, 0, 1))
    np.testing.assert_array_equal(outs[6], x.argmax(1))


def test_several_results():
    a = np.array([[3.0, 1.0], [1.0, 2.0]], np.float32)
    (q, r) = run(lambda b, x: b.qr(x), a)
    np.testing.assert_allclose(q @ r, a, atol=1e-5)
    (u, s, vt) = run(lambda b, x: b.ops("svd", [x]), a)
    np.testing.assert_allclose(u @ np.diag(s) @ vt, a, atol=1e-5)


def test_any_number_of_operands():
    x = np.ones((2, 2), np.float32)
    (joined,) = run(lambda b, x, y: [b.concatenate(x, y, x, axis=0)], x, 2 * x)
    np.testing.assert_array_equal(joined, np.concatenate([x, 2 * x, x]))


def test_captures_are_copied():
    weights = np.array([1.0, 2.0], np.float32)
    p = program_of(lambda b, x: [x * b.capture(weights, "w")])
    weights[:] = 0
    [out] = reprise.compile(p)(np.ones(2, np.float32))
    assert out.tolist() == [1.0, 2.0]
    ((name, value),) = p.captures
    assert (name, value.tolist()) == ("w", [1.0, 2.0])


def test_loops():
    def write(b, n, x):
        one = b.constant(1)
        return b.while_loop([n, x], lambda n, x: n > 0, lambda n, x: (n - one, x * 2.0))

    (n, x) = run(write, 5, np.array([1.5], np.float32))
    assert (n.item(), x.tolist()) == (0, [48.0])


def test_a_loop_of_one_value():
    (n,) = run(lambda b, n: b.while_loop(n, lambda n: n < 10, lambda n: n + 3), 1)
    assert n.item() == 10


def test_an_exception_in_a_loops_function_comes_through():
    b = reprise.Builder()
    x = b.input()
    with pytest.raises(ZeroDivisionError):
        b.while_loop([x], lambda x: x < 1, lambda x: 1 / 0)
    assert reprise.compile(b.build([x + 1]))(1)[0].item() == 2


def test_a_value_has_no_truth():
    b = reprise.Builder()
    x = b.input()
    with pytest.raises(TypeError, match="truth value"):
        if x > 0:
            pass
    with pytest.raises(TypeError):
        hash(x)


def test_kept_values_are_computed_but_not_given_out():
    seen = []
    b = reprise.Builder()
    x = b.input()
    [reply] = b.runtime_call(x, callback=1, results=[("f32", [])])
    exe = reprise.compile(b.build([x], keep=[reply]))
    assert len(exe.run([1.0], callback=lambda i, operands: seen.append(i) or [0.0])) == 1
    assert seen == [1]


# --- mistakes


def test_a_mistake_is_raised_where_it_is_made_and_stays():
    b = reprise.Builder()
    x = b.input()
    with pytest.raises(reprise.Error, match=r"builder|instruction 0 \(sum\).*no attribute 'axis'") as first:
        b.sum(x, axis=0)
    assert first.value.code == "verify"
    y = b.sum(x, axes=[0])  # goes on with placeholders
    with pytest.raises(reprise.Error, match="no attribute 'axis'"):
        b.build([y])


@pytest.mark.parametrize("write, text", [
    (lambda b, x: b.op("reshpe", [x], shape=[0]), "unknown op \"reshpe\".*reshape"),
    (lambda b, x: b.add(x), "operand"),
    (lambda b, x: b.sum(x), "attribute 'axes' is missing"),
    (lambda b, x: b.sum(x, axes=3), "wanted"),
    (lambda b, x: b.astype(x, dtype="float33"), "float33.*is unknown"),
    (lambda b, x: b.op("qr", [x]), "has 2 results"),
    (lambda b, x: b.op("while", [x]), "while_loop"),
    (lambda b, x: x + reprise.Builder().input(), "another builder"),
    (lambda b, x: b.constant(2 ** 64), "does not fit 64 bits"),
    (lambda b, x: b.argmax(x, axis=2 ** 70), "does not fit 64 bits"),
])
def test_mistakes_name_what_was_seen(write, text):
    b = reprise.Builder()
    x = b.input()
    with pytest.raises(reprise.Error, match=text):
        b.build([write(b, x)])


@pytest.mark.parametrize("write", [
    lambda b, x: x + "1", lambda b, x: x + None, lambda b, x: b.add(x, [1, 2]), lambda b, x: b.sum(x, axes=["a"]),
    lambda b, x: b.sum(x, axes=[0.5]), lambda b, x: b.sum(x, axes=object()), lambda b, x: b.op(3, [x]),
    lambda b, x: b.op("abs", x), lambda b, x: b.capture(x), lambda b, x: b.constant("1"), lambda b, x: b.constant(None),
    lambda b, x: x @ 2.0, lambda b, x: x // 2, lambda b, x: x % 2, lambda b, x: b.while_loop([x], None, None),
    lambda b, x: b.build(3), lambda b, x: reprise.compile("x"), lambda b, x: reprise.compile(b),
])
def test_other_types_raise_type_errors(write):
    b = reprise.Builder()
    with pytest.raises(TypeError):
        write(b, b.input())


# --- programs

LOOP = (ROOT / "examples/programs/loop.rp").read_text()


def test_text_round_trip(tmp_path):
    p = reprise.Program.parse(LOOP)
    assert reprise.Program.parse(str(p)) == p == reprise.Program.parse(p.text)
    assert hash(p) == hash(reprise.Program.parse(p.text))
    p.save(tmp_path / "loop.rp")
    assert reprise.Program.load(tmp_path / "loop.rp") == p == reprise.Program.load(str(tmp_path / "loop.rp"))
    assert (p.n_inputs, p.n_outputs, len(p)) == (2, 2, 1)
    assert p != reprise.Program.parse(LOOP.replace("const2 = 2", "const2 = 3"))
    assert p != 3 and not p == "x"


def test_captures_are_saved(tmp_path):
    w = np.arange(6, dtype=np.float16).reshape(2, 3)
    p = program_of(lambda b, x: [x + b.capture(w, "w")])
    p.save(tmp_path / "p.rp")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["p.rp", "p.safetensors"]
    again = reprise.Program.load(tmp_path / "p.rp")
    assert again == p
    np.testing.assert_array_equal(again.captures[0][1].numpy(), w)
    assert reprise.Program.parse(p.text, captures=[("w", w)]) == p
    assert reprise.Program.parse(p.text, captures=[w]) == p


def test_wire_round_trip():
    w = np.ones(3, np.float32)
    for p in (reprise.Program.parse(LOOP), program_of(lambda b, x: [x * b.capture(w)])):
        assert reprise.Program.from_wire(p.to_wire(), [value for _, value in p.captures]) == p


@pytest.mark.parametrize("data", [b"", b"\x83", b"\x83h\x02", b"\x83j", os.urandom(64)])
def test_damaged_wire_bytes_are_errors(data):
    with pytest.raises(reprise.Error) as e:
        reprise.Program.from_wire(data)
    assert e.value.code == "parse"


def test_check_gives_the_types_of_the_outputs():
    p = program_of(lambda b, x, y: [x @ y, b.sum(x, axes=[1])], 2)
    assert p.check() == []
    wanted = [reprise.TensorType("float32", [2, 4]), reprise.TensorType("f32", (2,))]
    assert p.check([("f32", [2, 3]), ("float32", (3, 4))]) == wanted
    assert p.check([np.ones((2, 3), np.float32), reprise.array(np.ones((3, 4), np.float32))]) == wanted
    assert str(wanted[0]) == "f32[2, 4]" and wanted[0].shape == (2, 4) and wanted[0].dtype == "float32"
    assert repr(wanted[0]) == "reprise.TensorType('float32', (2, 4))"
    with pytest.raises(reprise.Error, match=r"instruction 0 \(dot\)") as e:
        p.check([("f32", [2, 3]), ("f32", [4, 4])])
    assert e.value.code == "infer"
    with pytest.raises(TypeError):
        p.check([3, 4])
    with pytest.raises(reprise.Error, match="inputs"):
        p.check([("f32", [2, 3])])


def test_all_faults_of_a_program_are_named():
    p = reprise.Program.parse("reprise 1\ninputs 1\n%0 = add in0, in7\n%1 = nonsense %0\nreturn %1\n")
    assert len(p.faults()) == 2
    for act in (p.check, lambda: reprise.compile(p)):
        with pytest.raises(reprise.Error, match="in7 is out of range(.|\n)*nonsense") as e:
            act()
        assert e.value.code == "verify"
    assert reprise.Program.parse(LOOP).faults() == []


def test_errors_of_files(tmp_path):
    with pytest.raises(reprise.Error) as e:
        reprise.Program.load(tmp_path / "none.rp")
    assert e.value.code == "not_found" and "none.rp" in str(e.value)
    (tmp_path / "bad.rp").write_text("reprise 1\ninputs x\n")
    with pytest.raises(reprise.Error, match="line 2") as e:
        reprise.Program.load(tmp_path / "bad.rp")
    assert e.value.code == "parse"
    with pytest.raises(reprise.Error):
        reprise.Program.parse(LOOP).save(tmp_path / "no" / "such" / "folder.rp")


def test_errors_are_ordinary_exceptions():
    import pickle

    e = reprise.Error("text", "limit")
    again = pickle.loads(pickle.dumps(e))
    assert (str(again), again.code, repr(e)) == ("text", "limit", "Error('text')")
    assert issubclass(reprise.Error, Exception)


# --- running


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4)])
def test_arrays_come_back_as_they_went_in(dtype, shape):
    x = sample(dtype, shape)
    (out,) = run(lambda b, x: [b.reshape(x, shape=shape)], x)
    assert out.dtype == x.dtype and out.shape == x.shape
    np.testing.assert_array_equal(out, x)


def test_arrays_describe_themselves():
    [a] = reprise.compile(program_of(lambda b, x: [x + 1]))(np.arange(6, dtype=np.int16).reshape(2, 3))
    assert (a.shape, a.dtype, a.ndim, a.size, a.nbytes, len(a)) == ((2, 3), "int32", 2, 6, 24, 2)
    assert repr(a) == "reprise.Array([[1, 2, 3], [4, 5, 6]], s32[2, 3])"
    assert a.tolist() == [[1, 2, 3], [4, 5, 6]]
    scalar = reprise.array(2.5)
    assert scalar.item() == 2.5 == scalar.tolist() and scalar.shape == ()
    with pytest.raises(TypeError):
        len(scalar)
    with pytest.raises(reprise.Error, match="item"):
        a.item()
    assert repr(reprise.array(np.zeros((100, 100)))) == "reprise.Array(f64[100, 100])"


def test_array_takes_numbers_lists_and_dtypes():
    assert [reprise.array(v).dtype for v in (True, 1, 2 ** 40, 2 ** 63, 1.0, 1j, [1, 2], [1.5], [2 ** 40], [True],
                                             np.float64(1))] == [
        "bool", "int32", "int64", "uint64", "float32", "complex64", "int32", "float32", "int64", "bool", "float64"]
    assert reprise.array([[1, 2], [3, 4]], "float16").tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert reprise.array(reprise.array([1.5]), np.int32).tolist() == [1]
    halves = reprise.array([1.0, -2.5, float("nan"), float("inf"), 3.14159, 1e-40, 65537.0], "bfloat16")
    assert halves.dtype == "bfloat16"
    assert str(halves.tolist()) == "[1.0, -2.5, nan, inf, 3.140625, 1.00104...e-40, 65536.0]".replace(
        "1.00104...e-40", repr(halves.tolist()[5]))


def test_bfloat16_rounds_as_mlx_does():
    mx = pytest.importorskip("mlx.core")
    bits = np.random.default_rng(3).integers(0, 2 ** 32, 5000, dtype=np.uint32)
    values = bits.view(np.float32)
    ours = np.array(reprise.array(values, "bfloat16").tolist(), np.float32)
    theirs = np.array(mx.array(values).astype(mx.bfloat16).astype(mx.float32))
    np.testing.assert_array_equal(ours, theirs)


def test_bfloat16_goes_in_and_out():
    p = program_of(lambda b, x: [b.astype(x, dtype="bfloat16")])
    [a] = reprise.compile(p)(np.array([1.0, 2.5], np.float32))
    assert a.dtype == "bfloat16" and a.tolist() == [1.0, 2.5]
    try:
        import ml_dtypes
    except ImportError:
        with pytest.raises(TypeError, match="ml_dtypes"):
            a.numpy()
    else:
        assert a.numpy().dtype == ml_dtypes.bfloat16
        [again] = reprise.compile(program_of(lambda b, x: [x + x]))(a.numpy())
        assert again.tolist() == [2.0, 5.0]
    [doubled] = reprise.compile(program_of(lambda b, x: [x + x]))(a)
    assert doubled.tolist() == [2.0, 5.0] and doubled.dtype == "bfloat16"


def test_specialisations_are_counted_and_let_go():
    exe = reprise.compile(program_of(lambda b, x: [x + x]), max_specialisations=2)
    exe.specialise([("f32", [3])])
    for n in (3, 3, 4, 5, 3):
        exe(np.ones(n, np.float32))
    assert exe.stats == {"runs": 5, "specialisations": 2, "hits": 2, "misses": 4, "evictions": 2}
    assert exe.device == "cpu" and exe.program.n_inputs == 1
    with pytest.raises(reprise.Error) as e:
        exe.specialise([])
    assert e.value.code == "infer"


def test_only_the_native_backend_plans():
    exe = reprise.compile(program_of(lambda b, x: [x + x]), backend="mlx")
    with pytest.raises(reprise.Error, match="only backend native") as e:
        exe.plan([("f32", [3])])
    assert e.value.code == "unsupported"


def test_plan():
    exe = reprise.compile(program_of(lambda b, x: [b.sum(x + x, axes=[0])]), backend="native")
    plan = exe.plan([("f32", [16])])
    assert plan.steps[0].text == "take over f32[16] if donated"  # x, for x + x
    assert [step.instructions for step in plan.steps] == [[0], [0], [1]] and not plan.steps[0].on_mlx
    assert plan.input_bytes == 64 and plan.output_bytes == 4
    between = plan.buffers[plan.steps[0].writes[0]]
    assert (between.kind, between.offset, between.first_step, between.last_step) == ("array", None, 0, 2)
    assert str(between.type) == "f32[16]"
    assert plan.buffers[plan.outputs[0]].kind == "array" and plan.buffers[plan.outputs[0]].offset is None
    assert str(plan).splitlines()[0] == "   0 " + plan.steps[0].text
    assert json.loads(plan.to_json())["arena_bytes"] == plan.arena_bytes
    assert plan.to_svg() == plan._repr_svg_() and plan.to_svg().startswith("<svg ")
    with pytest.raises(reprise.Error) as e:
        exe.plan([])
    assert e.value.code == "infer"


def test_options_of_compile_are_checked():
    p = program_of(lambda b, x: [x])
    for options, code in [({"device": "tpu"}, "invalid_argument"), ({"device": "cuda:77"}, "unsupported"),
                          ({"backend": "xla"}, "invalid_argument"), ({"max_specialisations": 0}, "invalid_argument"),
                          ({"max_value_bytes": -1}, "invalid_argument")]:
        with pytest.raises(reprise.Error) as e:
            reprise.compile(p, **options)
        assert e.value.code == code
    exe = reprise.compile(p, max_value_bytes=100)
    with pytest.raises(reprise.Error, match="1000"):
        exe(np.zeros(1000, np.uint8))


def test_threads_are_known():
    assert reprise.threads() >= 1
    with pytest.raises(reprise.Error):
        reprise.set_threads(0)
    with pytest.raises(TypeError):
        reprise.set_threads("many")


def test_version():
    cmake = (ROOT / "CMakeLists.txt").read_text()
    assert re.search(r"project\(Reprise VERSION ([0-9.]+)", cmake).group(1) == reprise.__version__


def test_everything_public_is_documented():
    for name in reprise.__all__:
        thing = getattr(reprise, name)
        if name != "__version__":
            assert thing.__doc__, name
        for member in vars(thing) if isinstance(thing, type) else ():
            if not member.startswith("_") and member not in ("code",):
                assert getattr(thing, member).__doc__, f"{name}.{member}"


def test_the_stub_has_every_method():
    stub = pathlib.Path(reprise.__file__).with_name("_reprise.pyi").read_text()
    for op in reprise.ops():
        if op["name"] != "while":
            assert re.search(rf"(?m)^    def {op['name']}\(self", stub), op["name"]
    assert pathlib.Path(reprise.__file__).with_name("py.typed").exists()


def test_builders_are_independent_in_threads():
    texts = []

    def work(i):
        b = reprise.Builder()
        x = b.input()
        for _ in range(200):
            x = x + float(i)
        texts.append((i, str(b.build([x]))))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, text in texts:
        assert f"const0 = {float(i)} : f32" in text and text.count(" = add ") == 200

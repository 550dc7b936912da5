"""Whose memory the package `reprise` shows, copies, keeps and lets go."""

import array as python_array
import gc
import mmap
import sys
import time
import weakref

import numpy as np
import pytest

import reprise


def compiled(write, inputs=1, **options):
    b = reprise.Builder()
    return reprise.compile(b.build(write(b, *[b.input() for _ in range(inputs)])), **options)


IDENTITY = compiled(lambda b, x: [x])
DOUBLE = compiled(lambda b, x: [x + x])
TWICE = compiled(lambda b, x: [x * 2.0])


def address(a):
    return np.asarray(a).__array_interface__["data"][0]


def operand_address(x):
    """Where a run reads its input: a runtime_call gets the input itself."""
    b = reprise.Builder()
    value = b.input()
    seen = []
    like = np.asarray(x)
    exe = reprise.compile(b.build(b.runtime_call(value, callback=0, results=[("u8", [])])))

    def look(_, operands):
        np.testing.assert_array_equal(operands[0].numpy(), like)
        seen.append(address(operands[0].numpy()))
        return [0]

    exe.run([x], callback=look)
    return seen[0]


def eventually(condition):
    """MLX's own thread may let go of an array a moment after the run is over."""
    for _ in range(2000):
        gc.collect()
        if condition():
            return True
        time.sleep(0.005)
    return False


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * mmap.PAGESIZE


# --- without a copy


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "f8", "c8", "i8", "?"])
def test_dense_numpy_inputs_are_not_copied(dtype):
    x = np.ones((64, 64), dtype)
    assert operand_address(x) == address(x)


def test_a_dense_part_of_an_array_is_not_copied():
    x = np.zeros(4096, np.float32)  # what stands in front of the part decides whether the callback sees a copy
    part = x[1024:2048].reshape(32, 32)
    assert operand_address(part) == address(part) == address(x) + 4096


def test_read_only_inputs_are_not_copied():
    x = np.ones(1000, np.float32)
    x.flags.writeable = False
    assert operand_address(x) == address(x)


def test_other_buffers_are_not_copied():
    x = python_array.array("f", bytes(40000))
    assert operand_address(x) == x.buffer_info()[0]
    assert operand_address(memoryview(x)) == x.buffer_info()[0]
    raw = bytearray(20000)
    assert operand_address(raw) == address(np.frombuffer(raw, np.uint8))


def test_mlx_arrays_are_not_copied():
    mx = pytest.importorskip("mlx.core")
    x = mx.arange(100).astype(mx.float32)
    mx.eval(x)
    assert operand_address(x) == address(np.array(x, copy=False))
    [out] = DOUBLE(mx.array([1.5], mx.bfloat16))
    assert (out.dtype, out.tolist()) == ("bfloat16", [3.0])


def test_outputs_feed_the_next_run_without_a_copy():
    [x] = DOUBLE(np.ones(1000, np.float32))
    assert operand_address(x) == address(x.numpy())
    [same] = IDENTITY(x)
    assert address(same.numpy()) == address(x.numpy())


def test_numpy_and_dlpack_show_an_outputs_memory():
    [x] = DOUBLE(np.arange(6, dtype=np.float32).reshape(2, 3))
    view = x.numpy()
    assert address(view) == address(x.numpy()) == address(np.asarray(x)) == address(np.from_dlpack(x))
    assert not view.flags.writeable and not np.from_dlpack(x).flags.writeable
    with pytest.raises(ValueError):
        view[0, 0] = 1
    assert x.__dlpack_device__() == (1, 0)


def test_copies_are_made_when_they_are_asked_for():
    [x] = DOUBLE(np.ones(3, np.float32))
    copy = np.array(x, copy=True)
    assert address(copy) != address(x.numpy()) and copy.flags.writeable
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert address(np.asarray(x, copy=False)) == address(x.numpy())
        with pytest.raises(ValueError):
            np.asarray(x, dtype=np.float64, copy=False)
        assert address(np.from_dlpack(x, copy=True)) != address(x.numpy())


def test_strided_outputs_are_right():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    [t] = compiled(lambda b, x: [b.transpose(x, axes=[1, 0])])(x)
    [wide] = compiled(lambda b, x: [b.broadcast(x, shape=[4, 2, 3], axes=[1, 2])])(x)
    for out, want in [(t, x.T), (wide, np.broadcast_to(x, (4, 2, 3)))]:
        np.testing.assert_array_equal(out.numpy(), want)
        np.testing.assert_array_equal(np.from_dlpack(out), want)
        assert out.tolist() == want.tolist()
        np.testing.assert_array_equal(DOUBLE(out)[0].numpy(), 2 * want)
        np.testing.assert_array_equal(reprise.array(out).numpy(), want)


# --- with a copy


@pytest.mark.parametrize("make", [
    lambda x: x[:, ::2], lambda x: x.T, lambda x: x[::-1], lambda x: x[:, ::-1],
    lambda x: np.broadcast_to(x, (3, 8, 6)), lambda x: np.asfortranarray(x), lambda x: x.astype(">f4"),
    lambda x: x[:0], lambda x: x[..., None][:, :, ::3],
], ids=range(9))
def test_other_layouts_are_read_right(make):
    x = make(np.arange(48, dtype=np.float32).reshape(8, 6))
    np.testing.assert_array_equal(DOUBLE(x)[0].numpy(), x + x)


@pytest.mark.parametrize("offset", range(1, 9))
def test_unaligned_arrays_are_read_right(offset):
    raw = np.zeros(8 * 100 + 64, np.uint8)
    x = raw[offset:offset + 800].view(np.float64)
    x[:] = np.arange(100)
    np.testing.assert_array_equal(DOUBLE(x)[0].numpy(), 2.0 * np.arange(100))
    assert x.flags.aligned or operand_address(x) != address(x)


def test_fields_of_structures_are_read_right():
    x = np.zeros(10, np.dtype([("a", "u1"), ("b", "f4"), ("c", "f8")], align=False))
    x["b"] = np.arange(10)
    np.testing.assert_array_equal(DOUBLE(x["b"])[0].numpy(), 2.0 * np.arange(10))


def test_memory_at_the_start_of_a_page_is_read_right(tmp_path):
    (tmp_path / "x").write_bytes(np.arange(4096, dtype=np.float32).tobytes())
    x = np.memmap(tmp_path / "x", np.float32, "r")
    assert address(x) % mmap.PAGESIZE == 0
    np.testing.assert_array_equal(DOUBLE(x)[0].numpy(), 2 * np.arange(4096, dtype=np.float32))


def test_outputs_do_not_change_with_the_inputs():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    outs = compiled(lambda b, x: [x, b.transpose(x, axes=[1, 0]), b.reshape(x, shape=[6]),
                                  b.slice(x, input_shape=[2, 3], starts=[0, 1], lengths=[2, 2], strides=[1, 1])])(x)
    wanted = [x.copy(), x.T.copy(), x.reshape(6).copy(), x[:, 1:].copy()]
    x[:] = -1
    for out, want in zip(outs, wanted, strict=True):
        np.testing.assert_array_equal(out.numpy(), want)


def test_replies_of_callbacks_are_copied():
    b = reprise.Builder()
    x = b.input()
    [first] = b.runtime_call(x, callback=0, results=[("f32", [2])])
    [second] = b.runtime_call(x, callback=1, results=[("f32", [2])])
    buffer = np.zeros(2, np.float32)

    def answer(number, _):
        buffer[:] = number + 1
        return [buffer]

    outs = reprise.compile(b.build([first, second])).run([0.0], callback=answer)
    assert [out.tolist() for out in outs] == [[1, 1], [2, 2]]


# --- donation


def test_a_donated_array_gives_its_buffer_to_the_output():
    [x] = DOUBLE(np.ones(100000, np.float32))
    before = address(x.numpy())
    [y] = TWICE.run([x], donate=[0])
    assert address(y.numpy()) == before and y.numpy()[0] == 4
    assert x.donated and repr(x) == "reprise.Array(donated)"
    for use in (lambda: x.numpy(), lambda: x.shape, lambda: DOUBLE(x), lambda: x.tolist(), lambda: np.asarray(x),
                lambda: TWICE.run([x], donate=[0]), lambda: len(x)):
        with pytest.raises(reprise.Error, match="donated"):
            use()


def test_what_is_not_donated_stays():
    [x] = DOUBLE(np.ones(1000, np.float32))
    [y] = TWICE(x)
    assert not x.donated and x.numpy()[0] == 2 and y.numpy()[0] == 4
    assert address(x.numpy()) != address(y.numpy())


def test_a_donated_array_that_numpy_still_shows_is_not_overwritten():
    [x] = DOUBLE(np.ones(1000, np.float32))
    view = x.numpy()
    [y] = TWICE.run([x], donate=True)
    assert x.donated
    assert view[0] == 2 and y.numpy()[0] == 4 and address(view) != address(y.numpy())


def test_the_same_array_twice():
    add = compiled(lambda b, x, y: [x + y], 2)
    x = reprise.array(np.ones(1000, np.float32))
    [y] = add.run([x, x], donate=[0])
    assert y.numpy()[0] == 2 and x.donated


def test_numpy_inputs_are_never_overwritten():
    x = np.ones(100000, np.float32)
    for _ in range(5):
        [y] = TWICE(x)
        assert address(y.numpy()) != address(x)
    assert (x == 1).all()


@pytest.mark.parametrize("donate, text", [([0], "ndarray.*only a reprise.Array"), ([2], "input 2; there are 2"),
                                          ([-3], "input -3")])
def test_what_cannot_be_donated(donate, text):
    add = compiled(lambda b, x, y: [x + y], 2)
    y = reprise.array([1.0])
    with pytest.raises(reprise.Error, match=text):
        add.run([np.ones(1, np.float32), y], donate=donate)
    assert not y.donated
    with pytest.raises(TypeError):
        add.run([y, y], donate=["x"])
    with pytest.raises(TypeError):
        add.run([y, y], donate=3)


def test_a_failed_run_takes_its_donations():
    x = reprise.array(np.ones((2, 3), np.float32))
    with pytest.raises(reprise.Error):
        compiled(lambda b, x: [x @ x]).run([x], donate=[0])
    assert x.donated


def test_a_cache_is_updated_in_place():
    step = compiled(lambda b, cache, row: [b.put_slice(cache, b.reshape(row, shape=[1, 8]), dynamic_mask=0,
                                                       input_shape=[1000, 8], lengths=[1, 8], starts=[3, 0])], 2)
    cache = reprise.array(np.zeros((1000, 8), np.float32))
    before = address(cache.numpy())
    for i in range(10):
        [cache] = step.run([cache, np.full(8, i, np.float32)], donate=[0])
    assert address(cache.numpy()) == before
    assert cache.numpy()[3, 0] == 9


# --- lifetimes


def test_inputs_are_let_go():
    x = np.ones(1000, np.float32)
    base = sys.getrefcount(x)
    for exe in (DOUBLE, IDENTITY):
        for _ in range(100):
            exe(x)
    assert eventually(lambda: sys.getrefcount(x) == base)
    y = reprise.array(x)
    base = sys.getrefcount(y)
    for _ in range(100):
        DOUBLE(y)
    assert sys.getrefcount(y) == base


def test_inputs_of_failed_runs_are_let_go():
    x = np.ones((3, 4), np.float32)
    base = sys.getrefcount(x)
    bad = compiled(lambda b, x, y: [x @ y], 2)
    for _ in range(100):
        with pytest.raises(reprise.Error):
            bad(x, x)
        with pytest.raises(reprise.Error):
            bad(x)
        with pytest.raises(TypeError):
            bad(x, "y")
    assert eventually(lambda: sys.getrefcount(x) == base)


def test_views_keep_the_memory():
    view = DOUBLE(np.ones(100000, np.float32))[0].numpy()
    for _ in range(10):
        DOUBLE(np.zeros(100000, np.float32))
    assert (view == 2).all()
    capsule_view = np.from_dlpack(DOUBLE(np.ones(100000, np.float32))[0])
    gc.collect()
    DOUBLE(np.zeros(100000, np.float32))
    assert (capsule_view == 2).all()


def test_operands_that_are_kept_keep_their_memory():
    kept = []
    b = reprise.Builder()
    exe = reprise.compile(b.build(b.runtime_call(b.input(), callback=0, results=[("f32", [])])))
    x = np.ones(1000, np.float32)
    alive = weakref.ref(x)
    exe.run([x], callback=lambda _, operands: kept.extend(operands) or [0.0])
    del x
    gc.collect()
    assert alive() is not None and kept[0].numpy().sum() == 1000
    kept.clear()
    assert eventually(lambda: alive() is None)


def test_everything_can_go_in_any_order():
    b = reprise.Builder()
    x = b.input()
    y = x + b.capture(np.ones(10, np.float32))
    program = b.build([y])
    del b, x
    exe = reprise.compile(program)
    del program, y
    [out] = exe(np.ones(10, np.float32))
    del exe
    view = out.numpy()
    del out
    gc.collect()
    assert (view == 2).all()


@pytest.mark.parametrize("make", [
    lambda i: np.ones(16384, np.float32), lambda i: np.ones((128, 128), np.float32).T,
    lambda i: reprise.array(np.ones(16384, np.float32)), lambda i: np.ones(1 + i % 40, np.float32),
], ids=["borrowed", "copied", "donated", "shapes"])
def test_memory_stays_flat_across_ten_thousand_runs(make):
    def work(runs):
        for i in range(runs):
            x = make(i)
            [y] = DOUBLE.run([x], donate=isinstance(x, reprise.Array))
            y.numpy()

    work(1000)
    gc.collect()
    before = resident()
    work(10000)
    gc.collect()
    assert resident() - before < 8 << 20  # one lost array a run would be 640 MiB, of the small ones 1 MiB


def test_errors_do_not_leak():
    bad = compiled(lambda b, x, y: [x @ y], 2)
    x = np.ones((3, 4), np.float32)

    def work(runs):
        for _ in range(runs):
            with pytest.raises(reprise.Error):
                bad(x, x)
            with pytest.raises(reprise.Error):
                reprise.Program.parse("reprise 1\nnonsense")

    work(300)
    gc.collect()
    before = resident()
    work(3000)
    gc.collect()
    assert resident() - before < 8 << 20


def test_programs_and_executables_are_let_go():
    def work(rounds):
        for _ in range(rounds):
            exe = compiled(lambda b, x: [x + b.capture(np.ones(65536, np.float32))])
            exe(np.ones(65536, np.float32))

    work(20)
    gc.collect()
    before = resident()
    work(200)
    gc.collect()
    assert resident() - before < 16 << 20  # 200 captures are 50 MiB

"""Runs of the package `reprise` among threads and callbacks, and text models."""

import os
import pathlib
import threading
import traceback

import numpy as np
import pytest

import reprise


def compiled(write, inputs=1, **options):
    b = reprise.Builder()
    return reprise.compile(b.build(write(b, *[b.input() for _ in range(inputs)])), **options)


DOUBLE = compiled(lambda b, x: [x + x])
ENDLESS = compiled(lambda b, x: b.while_loop([x], lambda x: x > 0, lambda x: x * 1.0))
SQUARE_SUM = compiled(lambda b, x: [b.sum(x * x, axes=[0])])


def caller(results, callback=7):
    return compiled(lambda b, x: b.runtime_call(x, callback=callback, results=results))


def in_threads(count, work):
    """Runs work(i) in threads; the first exception comes out."""
    failures = []

    def guarded(i):
        try:
            work(i)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


# --- threads


def test_other_threads_run_while_a_program_does():
    """The loop ends only when another Python thread cancels it: with the GIL held that would be never."""
    cancel = reprise.CancelToken()
    assert not cancel.cancelled
    steps = []

    def other():
        for i in range(1000):
            steps.append(i)
        cancel.cancel()

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(reprise.Error, match="cancelled") as e:
        ENDLESS.run([1.0], cancel=cancel)
    thread.join()
    assert e.value.code == "cancelled" and len(steps) == 1000 and cancel.cancelled
    assert ENDLESS(0.0)[0].item() == 0  # still usable


def test_many_threads_share_an_executable():
    def work(i):
        for n in range(50):
            x = np.full(1 + (i + n) % 5, i, np.float32)
            assert SQUARE_SUM(x)[0].item() == len(x) * i * i

    in_threads(8, work)


def test_many_threads_compile():
    def work(i):
        for n in range(10):
            assert compiled(lambda b, x: [x + float(i), x * float(n)])(1.0)[0].item() == 1 + i

    in_threads(8, work)


def test_arrays_cross_threads_and_die_anywhere():
    shared = [reprise.array(np.ones(1000, np.float32)) for _ in range(64)]

    def work(i):
        for n in range(100):
            at = (7 * i + n) % len(shared)
            x = shared[at]
            view = x.numpy()
            [shared[at]] = DOUBLE(np.minimum(view, 1000))
            del x, view

    in_threads(8, work)


def test_one_array_is_donated_once():
    x = reprise.array(np.ones(1000, np.float32))
    outcomes = []

    def work(_):
        try:
            outcomes.append(DOUBLE.run([x], donate=[0])[0].numpy()[0])
        except reprise.Error as e:
            outcomes.append(str(e))

    in_threads(8, work)
    assert sorted(map(str, outcomes))[0] == "2.0"
    assert sum("donated" in str(o) for o in outcomes) == 7


# --- callbacks


def test_a_callback_gets_the_number_and_the_operands():
    seen = []
    b = reprise.Builder()
    x, y = b.input(), b.input()
    exe = reprise.compile(b.build(b.runtime_call(x, y + 1, callback=42, results=[("f32", [2]), ("s32", [])])))

    def answer(number, operands):
        seen.append((number, [type(o) for o in operands], [o.tolist() for o in operands]))
        return operands[0].numpy() * 10, 5

    outs = exe.run([np.array([1, 2], np.float32), 3], callback=answer)
    assert seen == [(42, [reprise.Array] * 2, [[1.0, 2.0], 4])]
    assert [o.tolist() for o in outs] == [[10.0, 20.0], 5]
    assert exe(np.array([1, 2], np.float32), 3, callback=answer)[1].item() == 5


@pytest.mark.parametrize("reply", [[[1.0, 2.0]], [np.array([1, 2], np.float32)], ([1, 2],),
                                   iter([reprise.array([1.0, 2.0])]), [np.float32([1, 2])]])
def test_replies_of_many_kinds(reply):
    [out] = caller([("f32", [2])]).run([0.0], callback=lambda *_: reply)
    assert (out.dtype, out.tolist()) == ("float32", [1.0, 2.0])


def test_operands_can_be_the_reply():
    [out] = caller([("f32", [3])]).run([np.ones(3, np.float32)], callback=lambda _, operands: operands)
    assert out.tolist() == [1, 1, 1]


@pytest.mark.parametrize("reply, text", [
    ([], "has 0 arrays; wanted 1"), (None, "has 0 arrays"), ([1.0, 2.0], "has 2 arrays"), ([[1.0]], "f32\\[1\\]"),
    ([np.float64(1)], "is f64\\[\\]; wanted f32\\[\\]"), (["x"], "TypeError|got str"), (3, "not iterable"),
    ([object()], "got object"),
])
def test_replies_that_do_not_fit(reply, text):
    exe = caller([("f32", [])])
    with pytest.raises(reprise.Error, match=text) as e:
        exe.run([0.0], callback=lambda *_: reply)
    assert e.value.code == "runtime" and "runtime_call" in str(e.value)
    assert exe.run([0.0], callback=lambda *_: [2.5])[0].item() == 2.5


def test_an_exception_in_a_callback_is_the_cause():
    exe = caller([("f32", [])])
    mine = KeyError("mine")

    def answer(*_):
        raise mine

    with pytest.raises(reprise.Error, match="KeyError: 'mine'") as e:
        exe.run([0.0], callback=answer)
    assert e.value.__cause__ is mine and e.value.code == "runtime"
    assert "answer" in [frame.name for frame in traceback.extract_tb(mine.__traceback__)]
    assert exe.run([0.0], callback=lambda *_: [1])[0].item() == 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_is_no_exception_comes_out_as_it_is(kind):
    exe = caller([("f32", [])])

    def answer(*_):
        raise kind("now")

    with pytest.raises(kind, match="now"):
        exe.run([0.0], callback=answer)
    assert exe.run([0.0], callback=lambda *_: [1])[0].item() == 1


def test_a_call_without_a_callback():
    with pytest.raises(reprise.Error, match="runtime_call"):
        caller([("f32", [])])(0.0)
    with pytest.raises(reprise.Error, match="TypeError"):
        caller([("f32", [])])(0.0, callback=3)


def test_callbacks_run_programs():
    exe = caller([("f32", [])])

    def answer(depth):
        def inner(_, operands):
            if depth == 0:
                return [SQUARE_SUM(np.array([3.0, 4.0], np.float32))[0]]
            built = compiled(lambda b, x: [x + 1.0])
            return [built(exe.run(operands, callback=answer(depth - 1))[0])[0]]
        return inner

    assert exe.run([0.0], callback=answer(5))[0].item() == 30


def test_callbacks_in_loops_and_threads():
    b = reprise.Builder()
    n = b.input()
    [out] = b.while_loop([n], lambda n: n < 50, lambda n: b.runtime_call(n, callback=1, results=[("s32", [])]))
    exe = reprise.compile(b.build([out]))

    def work(i):
        calls = []

        def answer(number, operands):
            calls.append(threading.get_ident())
            return [operands[0].item() + 1 + i]

        end = exe.run([0], callback=answer)[0].item()
        assert end >= 50 and len(calls) == -(-50 // (1 + i)) and set(calls) == {threading.get_ident()}

    in_threads(8, work)


# --- limits and cancellation


def test_loops_can_be_bounded():
    with pytest.raises(reprise.Error, match="10 times") as e:
        ENDLESS.run([1.0], max_loop_turns=10)
    assert e.value.code == "limit"


def test_a_used_token_stops_at_once():
    cancel = reprise.CancelToken()
    cancel.cancel()
    for exe in (ENDLESS, DOUBLE):
        with pytest.raises(reprise.Error) as e:
            exe.run([1.0], cancel=cancel)
        assert e.value.code == "cancelled"


def test_one_token_stops_many_runs():
    cancel = reprise.CancelToken()
    started = threading.Barrier(5)

    def work(_):
        started.wait()
        with pytest.raises(reprise.Error, match="cancelled"):
            ENDLESS.run([1.0], cancel=cancel)

    def stop():
        started.wait()
        cancel.cancel()

    in_threads(5, lambda i: stop() if i == 4 else work(i))


# --- text models

MODEL = os.environ.get("REPRISE_SMOLLM2")


@pytest.fixture(scope="module")
def model():
    if not MODEL:
        pytest.skip("REPRISE_SMOLLM2 names no model")
    return reprise.load_model(pathlib.Path(MODEL))


def test_a_model_writes(model):
    texts = []
    g = model.generate("The capital of France is", max_tokens=4, on_text=texts.append)
    assert "Paris" in g.text and "".join(texts) == g.text == str(g)
    assert (g.prompt_tokens, g.generated_tokens, g.finish) == (5, 4, "length") and g.decode_seconds > 0
    assert model.vocabulary > 1000 and model.context > 0 and len(model.encode("Hello there")) > 1
    assert model.decode_program(32).check is not None


def test_a_generation_can_be_ended(model):
    g = model.generate("One two three", max_tokens=50, on_text=lambda text: False)
    assert g.finish == "caller"

    def fail(text):
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        model.generate("One two three", max_tokens=50, on_text=fail)
    with pytest.raises(reprise.Error):
        model.generate("x", top_p=2.0)
    with pytest.raises(TypeError):
        model.generate(3)


def test_models_that_are_none(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"no model")
    with pytest.raises(reprise.Error, match="x.gguf"):
        reprise.load_model(tmp_path / "x.gguf")
    with pytest.raises(reprise.Error) as e:
        reprise.load_model(tmp_path / "y.gguf")
    assert e.value.code == "not_found"

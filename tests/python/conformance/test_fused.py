"""Norms, attention and rotary embeddings."""

import numpy as np
from scipy import special as sp

from dtypes import BITS, FLOATS, HALVES, REALS, finfo, floating, name_of, numpy_dtype, promote, wide
from elements import common, pairs
from framework import EFFORT, Tolerance, conformance_tests, floated, promoted, reference, scaled
from operands import WIDTHS, ordinary, random_shape, small
from ways import Case


def in_float32(epsilons, carried, reason, halves=None):
    """For what the contract computes in float32: float64 operands gain no more digits than that. Results of 16 bits are
    rounded once or a few times, which `halves` counts."""
    most = float(finfo("float32").eps) / float(finfo("float64").eps)
    out = {
        "float32": Tolerance(epsilons, reason, carried=carried),
        "float64": Tolerance(epsilons * most, reason + ", in float32", carried=carried * most),
    }
    for name in HALVES:
        rounded = float(finfo(name).eps) / float(finfo("float32").eps)
        out[name] = Tolerance(0.51, reason + ", rounded to 16 bits", carried=carried + (halves or 0) * rounded)
    return out


def wider(x):
    return np.asarray(x).astype(np.float64)


# --- norms


def norms(operands):
    """`operands` vectors follow x."""

    def cases(rng, dtype):
        def case(shape, eps=1e-5, others=None, low=-3, high=3, **kwargs):
            vectors = [ordinary(rng, shape[-1:], name, -2, 2) for name in others or [dtype] * operands]
            return Case([ordinary(rng, shape, dtype, low, high), *vectors], {"eps": eps}, **kwargs)

        yield case((3, 8), every_way=True)
        yield case((2, 3, 5), 1e-3, every_way=True)
        yield case((0, 4))
        yield case((3, 0), note="an empty axis")
        yield case((4, 6), 0.0, note="no eps")
        yield case((30, 4096), note="large")
        yield case((4000, 33), note="large")
        yield case((5, 16), low=100, high=101, note="far from 0")
        yield Case(
            [np.zeros((2, 4), numpy_dtype(dtype)), *[ordinary(rng, (4,), dtype)] * operands],
            {"eps": 1e-5},
            note="zeros",
        )
        for other in FLOATS:
            yield case((3, 8), others=[other] * operands, note="promotion")
        for n in WIDTHS:
            yield case((n,))
            yield case((3, n))
        for _ in range(8 * EFFORT):
            yield case(random_shape(rng, 1, 4, 9))

    return cases


NORM = in_float32(8, 16, "mean and variance are sums", halves=1.5)


@reference("fast_rms_norm", dtypes=FLOATS, cases=norms(1), result=promoted, tolerance=NORM)
def fast_rms_norm(x, w, eps):
    x, w = wider(x), wider(w)
    out = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * w if x.size else x * w
    return scaled(out, np.abs(out))


def layer_norm(x, w, b, eps):
    x, w, b = wider(x), wider(w), wider(b)
    if not x.size:
        return x * w
    centred = x - np.mean(x, -1, keepdims=True)
    scale = w / np.sqrt(np.mean(centred * centred, -1, keepdims=True) + eps)
    # The mean is as far off as the elements are large.
    return scaled(centred * scale + b, np.max(np.abs(x), -1, keepdims=True) * np.abs(scale) + np.abs(b))


@reference("fast_layer_norm", dtypes=FLOATS, cases=norms(2), result=promoted, tolerance=NORM)
def fast_layer_norm(x, w, b, eps):
    return layer_norm(x, w, b, eps)


@reference("fast_layer_norm_no_bias", dtypes=FLOATS, cases=norms(1), result=promoted, tolerance=NORM)
def fast_layer_norm_no_bias(x, w, eps):
    return layer_norm(x, w, np.zeros_like(w), eps)


def moderate(rng, shape, dtype):
    return (ordinary if dtype in FLOATS else small)(rng, shape, dtype)


def gates(rng, dtype):
    yield from pairs(moderate, REALS)(rng, dtype)


@reference(
    "fast_swiglu",
    dtypes=REALS,
    cases=gates,
    result=floated,
    tolerance={
        "float32": Tolerance(4, "an exponential and three roundings"),
        "float64": Tolerance(4, "an exponential and three roundings"),
    }
    | {name: Tolerance(2, "three roundings to 16 bits") for name in HALVES},
)
def fast_swiglu(gate, up):
    gate, up = (wide(x.astype(numpy_dtype(floating(name_of(x))))) for x in common(gate, up))
    return gate * sp.expit(gate) * up


# --- attention


def attend(q, k, v, scale, visible=True, added=0.0, sinks=None):
    """softmax(scale q k^T + added) v over the visible keys, in float64; a query that sees none gives 0."""
    q, k, v = wider(q), wider(k), wider(v)
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = scale * (q @ np.swapaxes(k, -1, -2)) + added
    scores = np.where(visible, scores, -np.inf)
    most = np.max(scores, -1, keepdims=True, initial=-np.inf)
    logits = None if sinks is None else wider(sinks)[None, :, None, None]
    if sinks is not None:
        most = np.maximum(most, logits)
    safe = np.where(np.isfinite(most), most, 0)
    weights = np.exp(scores - safe)
    total = np.sum(weights, -1, keepdims=True) + (0 if sinks is None else np.exp(logits - safe))
    weights = weights / np.where(total == 0, 1, total)
    # Scores are rounded relative to what they are: a large one moves its weight more.
    size = np.where(np.isfinite(scores), np.abs(scores), 0) + 1
    return scaled(weights @ v, (weights * size) @ np.abs(v))


ATTENTION = in_float32(4, 16, "two contractions and a softmax", halves=1)


def attention(extra=None, sinks=False, offsets=False):
    """Cases of every shape that matters; extra(rng, dtype, B, Nq, Tq, Tkv) gives masks, one case each."""

    def cases(rng, dtype):
        def case(batch, nq, nkv, tq, tkv, d, dv=None, name=None, **kwargs):
            name = name or dtype
            shapes = [(batch, nq, tq, d), (batch, nkv, tkv, d), (batch, nkv, tkv, dv or d)]
            operands = [ordinary(rng, s, n, -1, 1) for s, n in zip(shapes, (dtype, name, dtype))]
            attrs = {"scale": float(rng.choice([1.0, d**-0.5 if d else 1.0, 0.3]))}
            if offsets:
                attrs["kv_offset"] = int(rng.choice([0, max(tkv - 1, 0), max(tkv - tq, 0), 1]))
            last = [ordinary(rng, (nq,), dtype, -1, 1)] if sinks else []
            for mask in extra(rng, dtype, batch, nq, tq, tkv) if extra else [None]:
                yield Case([*operands, *([] if mask is None else [mask]), *last], attrs, **kwargs)

        yield from case(2, 4, 2, 3, 5, 8, every_way=True)
        yield from case(1, 2, 2, 4, 4, 16, every_way=True)
        yield from case(1, 1, 1, 1, 1, 1)
        yield from case(1, 3, 1, 1, 33, 64, note="a single step")
        yield from case(2, 2, 1, 7, 4, 8, note="more queries than keys")
        yield from case(1, 2, 2, 3, 5, 8, 6, note="values of another size")
        yield from case(0, 2, 1, 3, 4, 8)
        yield from case(1, 2, 2, 0, 4, 8, note="no query")
        yield from case(1, 2, 2, 3, 0, 8, note="no key")
        yield from case(1, 4, 2, 130, 257, 64, note="large")
        for name in FLOATS:
            yield from case(1, 2, 1, 3, 4, 8, name=name, note="promotion")
        for d in (32, 64, 80, 128):
            yield from case(1, 2, 1, 9, 17, d)
        for n in (7, 8, 9, 15, 16, 17, 31, 32, 33, 65):
            yield from case(1, 2, 1, n, n, 8)
        for _ in range(6 * EFFORT):
            nkv, group, tq, tkv, d = (int(n) for n in rng.integers(1, 6, 5))
            yield from case(int(rng.integers(1, 4)), nkv * group, nkv, tq, tkv, d, int(rng.integers(1, 9)))

    return cases


def three(names, attrs):
    return promote(*names[:3])


@reference("fast_sdpa", dtypes=FLOATS, cases=attention(), result=three, tolerance=ATTENTION)
def fast_sdpa(q, k, v, scale):
    return attend(q, k, v, scale)


@reference("fast_sdpa_sinks", dtypes=FLOATS, cases=attention(sinks=True), result=three, tolerance=ATTENTION)
def fast_sdpa_sinks(q, k, v, sinks, scale):
    return attend(q, k, v, scale, sinks=sinks)


def masks(rng, dtype, batch, nq, tq, tkv):
    shape = [(batch, nq, tq, tkv), (tq, tkv), (1, 1, tq, tkv), (batch, 1, 1, tkv), (tkv,), (1, nq, tq, 1), ()]
    shape = shape[int(rng.integers(0, len(shape)))]
    hidden = rng.random(shape) < rng.choice([0.3, 0.9])
    yield np.asarray(~hidden)
    yield np.asarray(np.where(hidden, -np.inf, rng.uniform(-2, 2, shape))).astype(numpy_dtype(dtype))
    yield small(rng, shape, str(rng.choice([d for d in BITS if d != "bool"])), -2, 2)


def masked(mask):
    return {"visible": mask} if mask.dtype == bool else {"added": wider(mask)}


@reference("fast_sdpa_masked", dtypes=FLOATS, cases=attention(masks), result=three, tolerance=ATTENTION)
def fast_sdpa_masked(q, k, v, mask, scale):
    return attend(q, k, v, scale, **masked(mask))


@reference("fast_sdpa_masked_sinks", dtypes=FLOATS, cases=attention(masks, True), result=three, tolerance=ATTENTION)
def fast_sdpa_masked_sinks(q, k, v, mask, sinks, scale):
    return attend(q, k, v, scale, sinks=sinks, **masked(mask))


def up_to(tq, tkv, offset):
    """Query i sees keys j <= i + offset."""
    return np.arange(tkv)[None, :] <= np.arange(tq)[:, None] + offset


@reference("fast_sdpa_causal", dtypes=FLOATS, cases=attention(), result=three, tolerance=ATTENTION)
def fast_sdpa_causal(q, k, v, scale):
    return attend(q, k, v, scale, up_to(q.shape[2], k.shape[2], k.shape[2] - q.shape[2]))


@reference("fast_sdpa_causal_sinks", dtypes=FLOATS, cases=attention(sinks=True), result=three, tolerance=ATTENTION)
def fast_sdpa_causal_sinks(q, k, v, sinks, scale):
    return attend(q, k, v, scale, up_to(q.shape[2], k.shape[2], k.shape[2] - q.shape[2]), sinks=sinks)


def key_masks(rng, dtype, batch, nq, tq, tkv):
    yield small(rng, (batch, tkv), str(rng.choice(REALS)), 0, 1)


def key_visible(q, k, key_mask, kv_offset):
    return up_to(q.shape[2], k.shape[2], kv_offset) & (key_mask != 0)[:, None, None, :]


@reference(
    "fast_sdpa_causal_key_masked",
    dtypes=FLOATS,
    cases=attention(key_masks, offsets=True),
    result=three,
    tolerance=ATTENTION,
)
def fast_sdpa_causal_key_masked(q, k, v, key_mask, scale, kv_offset):
    return attend(q, k, v, scale, key_visible(q, k, key_mask, kv_offset))


@reference(
    "fast_sdpa_causal_key_masked_sinks",
    dtypes=FLOATS,
    cases=attention(key_masks, True, True),
    result=three,
    tolerance=ATTENTION,
)
def fast_sdpa_causal_key_masked_sinks(q, k, v, key_mask, sinks, scale, kv_offset):
    return attend(q, k, v, scale, key_visible(q, k, key_mask, kv_offset), sinks=sinks)


def caches(rng, dtype):
    def case(batch, nq, nkv, tq, tmax, d, offset, kv_offset, **kwargs):
        shapes = [
            (batch, tq, nq, d),
            (batch, tq, nkv, d),
            (batch, tq, nkv, d),
            (batch, tmax, nkv, d),
            (batch, tmax, nkv, d),
        ]
        operands = [ordinary(rng, s, dtype, -1, 1) for s in shapes]
        place = np.array(offset, str(rng.choice(["int32", "int64"])))
        mask = small(rng, (batch, tmax), str(rng.choice(["bool", "int32", "float32", "uint8"])), 0, 1)
        place = place.reshape(1) if rng.integers(0, 2) else place
        return Case([*operands, place, mask], {"scale": float(d) ** -0.5, "kv_offset": kv_offset}, **kwargs)

    yield case(1, 2, 2, 1, 8, 4, 3, 7, every_way=True)
    yield case(2, 4, 2, 3, 9, 8, 2, -1, every_way=True, note="chunked prefill")
    yield case(1, 2, 1, 3, 8, 4, 0, 0, note="prefill")
    yield case(1, 2, 1, 3, 8, 4, 99, -1, note="beyond the end")
    yield case(1, 2, 1, 3, 8, 4, -5, -1, note="before the start")
    yield case(1, 8, 2, 1, 1024, 64, 700, 1023, note="large")
    yield case(1, 8, 2, 32, 512, 64, 100, -1, note="large")
    for _ in range(12 * EFFORT):
        nkv, group, tq, d = (int(n) for n in rng.integers(1, 5, 4))
        tmax = tq + int(rng.integers(0, 9))
        kv_offset = int(rng.choice([-1, 0, tmax - 1]))
        yield case(int(rng.integers(1, 3)), nkv * group, nkv, tq, tmax, d, int(rng.integers(-2, tmax + 3)), kv_offset)


def bits(x):
    return np.ascontiguousarray(x).view(f"uint{8 * x.dtype.itemsize}")


def observe_cache(case, results):
    return [results[0], bits(results[1]), bits(results[2])]


@reference(
    "kv_cache_sdpa_update",
    dtypes=FLOATS,
    cases=caches,
    tolerance=ATTENTION,
    observe=observe_cache,
    result=lambda names, attrs: [promote(names[0], names[3], names[4]), names[3], names[4]],
)
def kv_cache_sdpa_update(q, new_k, new_v, k_cache, v_cache, offset, key_mask, scale, kv_offset):
    tq, tmax = q.shape[1], k_cache.shape[1]
    start = min(max(int(offset.item()), 0), tmax - tq)
    k, v = k_cache.copy(), v_cache.copy()
    k[:, start : start + tq], v[:, start : start + tq] = new_k, new_v
    q, keys, values = (np.swapaxes(x, 1, 2) for x in (q, k, v))
    visible = key_visible(q, keys, key_mask, start if kv_offset == -1 else kv_offset)
    return [attend(q, keys, values, scale, visible), bits(k), bits(v)]


# --- rotary embedding


def rotated(a, angles, dims, traditional):
    """Pairs of the first `dims` features, turned by angles that broadcast to (..., dims / 2)."""
    a = wider(a)
    half = dims // 2
    first, second = (slice(0, dims, 2), slice(1, dims, 2)) if traditional else (slice(0, half), slice(half, dims))
    u, v = a[..., first], a[..., second]
    out, scale = a.copy(), np.zeros(a.shape)
    out[..., first] = u * np.cos(angles) - v * np.sin(angles)
    out[..., second] = u * np.sin(angles) + v * np.cos(angles)
    # Angles are float32 numbers: their rounding grows with them.
    scale[..., first] = scale[..., second] = (np.abs(u) + np.abs(v)) * (1 + np.abs(angles))
    return scaled(out, scale)


def frequencies(dims, base):
    return float(base) ** (-2 * np.arange(dims // 2) / max(dims, 1))


ROPE = in_float32(2, 4, "angles are float32 products of positions and frequencies", halves=1)


def features(rng, d):
    return 2 * int(rng.integers(1, d // 2 + 1)) if d >= 2 else 0


def consecutive(rng, dtype):
    def case(shape, dims=None, traditional=None, **kwargs):
        attrs = {
            "dims": features(rng, shape[-1]) if dims is None else dims,
            "traditional": bool(rng.integers(0, 2)) if traditional is None else traditional,
            "base": float(rng.choice([10000.0, 500000.0, 100.0])),
            "scale": float(rng.choice([1.0, 0.25, 2.0])),
            "offset": int(rng.integers(0, 50)),
        }
        return Case([ordinary(rng, shape, dtype)], attrs, **kwargs)

    yield case((2, 3, 4, 8), 8, False, every_way=True)
    yield case((2, 5, 6), 4, True, every_way=True)
    yield case((0, 2, 3, 4), 4)
    yield case((1, 2, 0, 4), 4)
    yield case((1, 8, 300, 64), 64, note="large")
    for n in WIDTHS:
        yield case((1, 2, n, 8))
        yield case((1, 2, 3, 2 * n))
    for _ in range(12 * EFFORT):
        yield case((*random_shape(rng, 1, 3, 4), int(rng.integers(1, 6)), int(rng.integers(2, 17))))


@reference("fast_rope", dtypes=FLOATS, cases=consecutive, tolerance=ROPE)
def fast_rope(a, dims, traditional, base, scale, offset):
    position = offset + np.arange(a.shape[-2])
    return rotated(a, scale * position[:, None] * frequencies(dims, base), dims, traditional)


def tokens(any_rank, with_freqs):
    """Positions for each token; `any_rank`: the ops that also take a of another rank than 4."""

    def cases(rng, dtype):
        def case(shape, dims=None, name=None, traditional=False, **kwargs):
            dims = features(rng, shape[-1]) if dims is None else dims
            position = rng.integers(0, 60, shape[:2]).astype(
                numpy_dtype(name or str(rng.choice(["int32", "int64", "uint8"])))
            )
            attrs = {"dims": dims, "traditional": traditional, "scale": float(rng.choice([1.0, 0.25, 2.0]))}
            operands = [ordinary(rng, shape, dtype), position]
            if with_freqs:
                operands.append(ordinary(rng, (dims // 2,), "float32", 1, 50))
            else:
                attrs["base"] = float(rng.choice([10000.0, 500000.0, 100.0]))
            return Case(operands, attrs, **kwargs)

        yield case((2, 3, 4, 8), 8, every_way=True)
        yield case((2, 3, 1, 6), 4, every_way=True, note="one head")
        yield case((1, 300, 8, 64), 64, note="large")
        yield case((0, 3, 2, 4), 4)
        yield case((2, 0, 2, 4), 4)
        for name in REALS:
            if name != "bool":
                yield case((2, 3, 2, 8), name=name, note="positions of any real dtype")
        for n in WIDTHS:
            yield case((1, n, 2, 8))
            yield case((1, 3, 2, 2 * n))
        for _ in range(10 * EFFORT):
            yield case(tuple(int(n) for n in (*rng.integers(1, 5, 3), rng.integers(2, 17))))
        if any_rank:
            yield case((2, 3, 8), traditional=True, note="rank 3")
            yield case((2, 3, 8), note="rank 3")
            yield case((2, 2, 2, 3, 6), note="rank 5")
            yield case((2, 3, 1, 6), traditional=True, note="one head, neighbours pair")

    return cases


def turn(a, position, theta, dims, traditional, scale):
    position = wider(position)
    if a.ndim == 4:
        at = position[:, :, None, None]
    else:
        step = position[:, 0].reshape(-1, *[1] * (a.ndim - 1)) if a.shape[1] else np.zeros([1] * a.ndim)
        at = step + np.arange(a.shape[-2])[:, None]
    return rotated(a, scale * at * theta, dims, traditional)


@reference("fast_rope_ids", dtypes=FLOATS, cases=tokens(True, False), tolerance=ROPE)
def fast_rope_ids(a, position, dims, traditional, base, scale):
    return turn(a, position, frequencies(dims, base), dims, traditional, scale)


@reference("fast_rope_with_freqs", dtypes=FLOATS, cases=tokens(True, True), tolerance=ROPE)
def fast_rope_with_freqs(a, position, freqs, dims, traditional, scale):
    return turn(a, position, 1 / wider(freqs), dims, traditional, scale)


@reference("fast_rope_positions", dtypes=FLOATS, cases=tokens(False, False), tolerance=ROPE)
def fast_rope_positions(a, position, dims, traditional, base, scale):
    return turn(a, position, frequencies(dims, base), dims, traditional, scale)


@reference("fast_rope_with_freqs_positions", dtypes=FLOATS, cases=tokens(False, True), tolerance=ROPE)
def fast_rope_with_freqs_positions(a, position, freqs, dims, traditional, scale):
    return turn(a, position, 1 / wider(freqs), dims, traditional, scale)


test_op = conformance_tests(__name__)

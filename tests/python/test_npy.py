"""NumPy judges what the .npy and .npz readers and writers do; NPY_TOOL names the program that calls them."""

import io
import os
import random
import subprocess
import zipfile

import numpy as np
import pytest

TOOL = os.environ["NPY_TOOL"]
DTYPES = ["b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8"]
SHAPES = [(), (0,), (1,), (7,), (2, 3), (3, 0, 2), (2, 3, 4, 5)]


def tool(*words):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=120)


def sample(dtype, shape, seed=1):
    raw = np.random.default_rng(seed).integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype="u1")
    if dtype == "b1":
        raw %= 2
    return raw.view(dtype).reshape(shape)


def same(a, b):
    """Same shape, type and bits, whatever the byte order."""
    b = b.astype(b.dtype.newbyteorder("="))
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == np.ascontiguousarray(b).tobytes()


def saved(array, version=None):
    with io.BytesIO() as file:
        np.lib.format.write_array(file, array, version=version)
        return file.getvalue()


def copies(folder, files):
    """Writes the files, lets the tool copy them all in one run, and gives the paths of the copies."""
    pairs = []
    for i, data in enumerate(files):
        (folder / f"{i}.npy").write_bytes(data)
        pairs.append((folder / f"{i}.npy", folder / f"{i}.copy.npy"))
    done = tool("copy", *(path for pair in pairs for path in pair))
    assert (done.returncode, done.stderr) == (0, "")
    return [to for _, to in pairs]


def test_files_are_numpys_byte_for_byte(tmp_path):
    files = [saved(sample(dtype, shape)) for dtype in DTYPES for shape in SHAPES]
    for data, path in zip(files, copies(tmp_path, files)):
        assert data == path.read_bytes()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_orders_are_read(tmp_path, order, layout):
    arrays = [sample(dtype, shape).astype(order + dtype, order=layout) for dtype in DTYPES for shape in SHAPES]
    for version in [(1, 0), (2, 0), (3, 0)]:
        for x, path in zip(arrays, copies(tmp_path, [saved(x, version) for x in arrays])):
            assert same(np.load(path), x), path.read_bytes()


@pytest.mark.parametrize(
    "value, word",
    [
        (np.zeros(2, "V2"), "bfloat16"),
        (np.zeros(2, "c16"), "complex128"),
        (np.zeros(2, "f16"), "extended"),
        (np.zeros(2, "M8[s]"), "dates"),
        (np.array(["a"]), "not a tensor's"),
        (np.array([{}], object), "pickled"),
        (np.zeros(2, [("a", "i4")]), "records"),
    ],
)
def test_types_that_are_not_tensors_are_explained(tmp_path, value, word):
    np.save(tmp_path / "x.npy", value)
    line = tool("check", tmp_path / "x.npy").stdout
    assert line.startswith(f"error: {tmp_path}/x.npy: ") and word in line and line.count("\n") == 1


def test_archives_both_ways(tmp_path):
    arrays = {f"{d}/{'x'.join(map(str, s))}": sample(d, s) for d in DTYPES for s in SHAPES}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        for command in ("copy", "deflate"):
            assert tool(command, tmp_path / "x.npz", tmp_path / "y.npz").stderr == ""
            with np.load(tmp_path / "y.npz") as back:
                assert back.files == list(arrays)
                assert all(same(arrays[name], back[name]) for name in arrays)
            with zipfile.ZipFile(tmp_path / "y.npz") as archive:
                assert archive.testzip() is None
    np.savez(tmp_path / "none.npz")
    assert tool("copy", tmp_path / "none.npz", tmp_path / "y.npz").stderr == ""
    assert np.load(tmp_path / "y.npz").files == []


def test_archives_written_to_a_pipe(tmp_path):
    """There the sizes follow the members, since the writer cannot go back."""

    class Pipe(io.RawIOBase):
        def __init__(self):
            self.parts = []

        def writable(self):
            return True

        def write(self, data):
            self.parts.append(bytes(data))
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", saved(np.arange(100)))
    (tmp_path / "x.npz").write_bytes(b"".join(pipe.parts))
    assert tool("check", tmp_path / "x.npz").stdout == "ok xs64[100]\n"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_named(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
        archive.writestr("x.npy", saved(np.arange(100)))
    assert f"zip's method {method}" in tool("check", tmp_path / "x.npz").stdout


def test_what_is_accepted_numpy_accepts_too(tmp_path):
    """Random damage to headers; the reader may be stricter than NumPy, but never reads something else."""
    chance = random.Random(7)
    alphabet = b"(){}[]',:<>|=0123456789 LTFrueals\n\t\\\"biufcV\x00\xff"
    whole = saved(np.arange(6, dtype="<i4").reshape(2, 3))
    paths = []
    for i in range(3000):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 3])):
            data[chance.randrange(6, 75)] = chance.choice(alphabet)
        paths.append(tmp_path / f"{i}.npy")
        paths[-1].write_bytes(data)
    lines = tool("check", *paths).stdout.splitlines()
    assert len(lines) == len(paths)
    accepted = [(path, line) for path, line in zip(paths, lines) if line.startswith("ok")]
    assert len(accepted) > 30
    for path, line in accepted:
        x = np.load(path)
        name = "bool" if x.dtype.kind == "b" else f"{x.dtype.kind}{8 * x.dtype.itemsize}".replace("i", "s")
        assert line == f"ok {name}[{', '.join(map(str, x.shape))}]", path.read_bytes()
    for (path, _), copy in zip(accepted, copies(tmp_path, [path.read_bytes() for path, _ in accepted])):
        assert same(np.load(copy), np.load(path)), path.read_bytes()

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from nearkin import Euclidean, StorageError, Suspect
from nearkin.spaces.feature_space import LocalExtension, NystroemExtension
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.storage import arrays as array_file
from nearkin.storage.arrays import parse_json, read_arrays, read_header, write_arrays
from nearkin.storage.schema import Packed, pack, unpack
from tests.cases import each

ARRAYS = {
    "C": np.arange(12.0).reshape(3, 4),
    "F": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": np.arange(24, dtype=np.float32).reshape(4, 6)[::2, 1::2],
    "number": np.array(np.pi),
    "empty": np.empty((0, 3)),
    "big-endian": np.arange(5, dtype=">i4"),
    "bytes": np.arange(3, dtype=np.uint8),
    "truth": np.array([True, False, True]),
    "extremes": np.array([np.nan, np.inf, -0.0, 5e-324]),
}
CONTENT = {"a": [1, None, 0.1, "é\ud800"], "b": {}}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "some.file"
    write_arrays(path, "example", 3, ARRAYS, CONTENT)
    return path


def read(path, kind="example", version=3):
    return read_arrays(path, kind, version)


def header_of(path):
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def write_header(path, header, numbers):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + numbers)


def test_arrays_and_content_come_back(path):
    arrays, content = read(path)
    assert content == CONTENT
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].shape == array.shape
        assert arrays[name].dtype == array.dtype.newbyteorder("<")
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].flags.writeable
        assert arrays[name].flags.aligned


def test_numbers_are_aligned_in_the_file(path):
    start = 8 + int.from_bytes(path.read_bytes()[:8], "little")
    for dtype, _, begin, _ in read_header(path, "example", 3).arrays.values():
        assert (start + begin) % np.dtype(dtype).itemsize == 0


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_arrays(tmp_path / "other", "example", 3, ARRAYS, CONTENT)
    assert path.read_bytes() == (tmp_path / "other").read_bytes()


def test_safetensors_reads_our_files(path):
    safetensors = pytest.importorskip("safetensors.numpy")
    found = safetensors.load_file(path)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)


def test_header_alone(path):
    header = read_header(path, "example", 3)
    assert header.version == 3
    assert header.content == CONTENT
    assert header.arrays["C"][:2] == ("float64", (3, 4))
    assert header.size == path.stat().st_size


def test_no_arrays(tmp_path):
    write_arrays(tmp_path / "f", "example", 1, {}, None)
    assert read_arrays(tmp_path / "f", "example", 1) == ({}, None)


@each("dtype", ["complex128", "float16", "datetime64[s]", "U3", "object"])
def test_other_dtypes_are_not_stored(dtype, tmp_path):
    with pytest.raises(StorageError, match=r"names has dtype .* not stored.*bool, uint8"):
        write_arrays(tmp_path / "f", "example", 1, {"names": np.zeros(2).astype(dtype)}, None)
    assert not list(tmp_path.iterdir())


def test_other_kinds_and_versions(path):
    with pytest.raises(StorageError, match="is a example file, not a model file"):
        read(path, kind="model")
    with pytest.raises(StorageError, match=r"version 3, .* reads version 2: .*pip install -U"):
        read(path, version=2)
    with pytest.raises(StorageError, match=r"version 3, .* reads version 4: fit again"):
        read(path, version=4)


@each(
    "data",
    [
        b"",
        b"\0" * 7,
        b"\0" * 8,
        b"\x80\x04\x95 a pickle",
        (2**63).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (10**5).to_bytes(8, "little") + b"[" * 10**5,
        (4).to_bytes(8, "little") + b"\xff\xff\xff\xff",
    ],
)
def test_other_files(data, tmp_path):
    (tmp_path / "f").write_bytes(data)
    for reader in (read_arrays, read_header):
        with pytest.raises(StorageError, match="f is no example file"):
            reader(tmp_path / "f", "example", 1)


def test_every_byte_counts(path):
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    text = data[8:end].rstrip()
    for at in [*range(8 + len(text)), *range(end, len(data))]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(StorageError):
            read(path)


def test_damaged_numbers(path):
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"\1" if data[-1:] == b"\0" else data[:-1] + b"\0")
    with pytest.raises(StorageError, match="content is not what was written"):
        read(path)
    path.write_bytes(data[:-1])
    with pytest.raises(StorageError, match=f"has {len(data) - 1} bytes, its header says"):
        read(path)


@each(
    ("change", "message"),
    [
        ({"shape": [2**62, 2**62]}, "96 bytes for an array of shape"),
        ({"shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}, "damaged"),
        ({"shape": [-3, -4]}, r"shape \[-3, -4\]"),
        ({"shape": [True, 12]}, r"shape \[True, 12\]"),
        ({"shape": [1] * 60 + [12]}, "shape"),
        ({"dtype": "F32"}, "96 bytes"),
        ({"dtype": "object"}, "dtype object"),
        ({"data_offsets": [96, 192]}, "out of place"),
        ({"more": 1}, "other fields"),
    ],
)
def test_forged_sizes(change, message, path):
    write_arrays(path, "example", 3, ARRAYS, CONTENT)
    header, numbers = header_of(path)
    header["C"] |= change
    write_header(path, header, numbers)
    with pytest.raises(StorageError, match=message):
        read(path)


def test_messages_are_printable(path):
    header, numbers = header_of(path)
    header["__metadata__"]["kind"] = "\x1b[2J"
    write_header(path, header, numbers)
    with pytest.raises(StorageError, match=r"is a \?\[2J file, not a example file"):
        read(path)


def test_json_is_strict():
    assert parse_json('{"a": [1, 2.5]}') == {"a": [1, 2.5]}
    for text in ("NaN", "[-Infinity]", '{"a": 1, "a": 2}', "[" * 10**5, "1" * 5000, "{"):
        with pytest.raises(ValueError):  # noqa: PT011, of many kinds
            parse_json(text)


def test_too_many_names(tmp_path):
    with pytest.raises(StorageError, match="very many column names"):
        write_arrays(tmp_path / "f", "example", 1, {}, "x" * (1 << 24))


# Writing


def test_a_file_is_replaced_whole_or_not_at_all(path, monkeypatch):
    before = path.read_bytes()

    class Interrupted(BaseException):
        pass

    def interrupt(*_):
        assert len(list(path.parent.iterdir())) == 2
        raise Interrupted

    for step in ("fsync", "replace"):
        monkeypatch.setattr(array_file.os, step, interrupt)
        with pytest.raises(Interrupted):
            write_arrays(path, "example", 3, {}, None)
        monkeypatch.undo()
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]


def test_places_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        read(tmp_path)


def through(value):
    return unpack(pack(value))


@each(
    "value",
    [
        *(None, True, 3, -(10**30), 0.1, 5e-324, "é", [1, [2.5]], (1, (2,)), {"a": (1,)}),
        *(np.float32(0.1), np.int64(3), np.bool_(True), np.float64(0.1), np.float64(np.inf)),
        *(np.inf, -np.inf, Suspect((1, 2), True, 0.5), Kernel("rbf", 0.3)),
    ],
)
def test_values_keep_their_type(value):
    found = through(value)
    assert found == value
    assert type(found) is type(value)
    assert np.isnan(through(float("nan")))


@each("words", [np.array(["a", "bcd"]), np.array(["a", "b"], dtype=object)])
def test_words(words):
    found = through(words)
    assert found.dtype == words.dtype
    assert found.tolist() == words.tolist()


def test_order_in_memory_is_kept():
    C = np.arange(6.0).reshape(2, 3)
    for array in (C, C.T, C[:, ::2], np.asfortranarray(C), C.T[::2], C[:1], C[:, :1]):
        found = through(array)
        np.testing.assert_array_equal(found, array)
        assert (found.strides[0] < found.strides[1]) == (array.strides[0] < array.strides[1])


def test_an_array_that_occurs_twice_is_stored_once_and_is_one_again():
    for array in (np.ones((2, 3)), np.ones((2, 3), order="F")):
        packed = pack([array, {"again": array}])
        assert len(packed.arrays) == 1
        one, other = unpack(packed)
        assert one is other["again"]


@each("form", [sp.csr_matrix, sp.csr_array])
def test_sparse(form):
    matrix = form(np.array([[0, 1.5], [0, 0], [2, 3]], dtype=np.float32))
    found = through(matrix)
    assert type(found) is form
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), matrix.toarray())


def test_parameters_of_scikit_learn_are_stored_if_they_are_not_the_default():
    scaler = StandardScaler(with_mean=False)
    assert pack(scaler).node["parameters"] == {"with_mean": False}
    assert through(scaler).get_params() == scaler.get_params()
    assert pack(Euclidean()).node["parameters"] == {"scale": False, "random_state": None}


# What is not stored


@each(
    ("value", "message"),
    [
        (lambda a, b: a @ b.T, "kernel is a function, that is code.*name.*precomputed"),
        (np.dot, "kernel is a function"),
        (np.random.RandomState(0), "kernel is a RandomState.*number or None"),
        (KMeans(), r"kernel is a KMeans, which is not stored.*PCA.*Apply others.*beforehand"),
        (np.array([1, "a"], dtype=object), "kernel holds objects other than texts"),
        (sp.csc_array((2, 2)), "kernel is a csc_array, which is not stored"),
        ({1: 2}, "kernel is a dict, which is not stored"),
        ({1}, "kernel is a set"),
        (3j, "kernel is a complex"),
        (type("Euclidean", (Euclidean,), {})(), "kernel is a Euclidean, which is not stored"),
    ],
)
def test_what_is_not_stored(value, message):
    with pytest.raises(StorageError, match=message):
        pack({"kernel": value})


def test_what_does_not_fit_is_not_stored_either():
    landmarks = KernelLandmarks(Kernel("rbf"), np.ones((3, 2)))
    with pytest.raises(StorageError, match=r"eigenvectors of .* not an array of finite numbers"):
        pack(NystroemExtension(landmarks, np.ones(2), np.full((3, 2), np.nan)))
    with pytest.raises(StorageError, match=r"rows of KernelLandmarks is not rows of shape \(m d\)"):
        pack(KernelLandmarks(Kernel("rbf"), np.ones(3)))


# What is not built

KERNEL = pack(Kernel("rbf")).node


@each(
    ("node", "message"),
    [
        ({"class": "system", "state": {}}, "'system', which this nearkin cannot build"),
        ({"class": "Kernel", "parameters": {}, "state": {}}, "cannot build"),
        ({"class": "Euclidean", "state": {}}, "cannot build"),
        ({"class": "Kernel", "state": {}}, "name of Kernel is not one of"),
        (KERNEL | {"state": KERNEL["state"] | {"gamma": -1}}, "not a positive number"),
        (KERNEL | {"state": KERNEL["state"] | {"gamma": True}}, "not a positive number"),
        (KERNEL | {"state": KERNEL["state"] | {"__call__": 1}}, "keeps no '__call__'"),
        (KERNEL | {"more": 1}, "form that is not known"),
        ({"class": "Euclidean", "parameters": {"x": 1}, "state": {}}, "has no parameter 'x'"),
        (
            {"class": "Euclidean", "parameters": {"random_state": "x"}, "state": {}},
            "parameters of Euclidean: The 'random_state' parameter",
        ),
        (
            {"class": "Euclidean", "parameters": {}, "state": {"transform": 1}},
            "keeps no 'transform'",
        ),
        ({"class": "Euclidean", "parameters": {}, "state": {"threshold_": 1}}, "n_features_in_"),
        ({"array": "a"}, "array 'a' that is not there"),
        ({"number": 1, "dtype": "object"}, "form that is not known"),
        ({"float": "1e9"}, "form that is not known"),
        ({"words": ["x" * 10**5, *[""] * 10**3], "dtype": "str"}, "too long"),
        ({"words": [1], "dtype": "object"}, "not a list of texts"),
        ({"pickle": "..."}, "form that is not known"),
    ],
)
def test_what_is_not_built(node, message):
    with pytest.raises(StorageError, match=message):
        unpack(Packed(node))


def test_nested_too_deeply():
    node = 0
    for _ in range(100):
        node = [node]
    with pytest.raises(StorageError, match="nested too deeply"):
        unpack(Packed(node))


@each(
    ("name", "array"),
    [
        ("indices", np.array([0, 7, 1])),
        ("indices", np.array([0, -1, 1])),
        ("indices", np.array([0.0, 1.0, 1.0])),
        ("indptr", np.array([0, 3, 1, 3])),
        ("indptr", np.array([0, 1, 1])),
        ("data", np.array([1, 2, 3])),
        ("data", np.array([1.0])),
    ],
)
def test_sparse_matrices_that_would_be_read_beyond_their_ends(name, array):
    packed = pack({"rows": sp.csr_array(np.array([[0, 1.5], [0, 0], [2, 3]]))})
    packed.arrays[f"rows.{name}"] = array
    with pytest.raises(StorageError, match="rows is not a sparse matrix"):
        unpack(packed)


def test_arrays_that_nothing_refers_to():
    with pytest.raises(StorageError, match="nothing refers to"):
        unpack(Packed([1], {"extra": np.ones(3)}))


def test_coordinates_of_too_few_landmarks():
    extension = LocalExtension(KernelLandmarks(Kernel("rbf"), np.eye(4)), 2)
    with pytest.raises(ValueError, match="coordinates of 3 landmarks, but there are 4"):
        extension.embed(np.eye(4), np.ones((3, 2)))

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from nearkin import Euclidean, StorageError, Suspect
from nearkin.spaces.feature_space import LocalExtension, NystroemExtension
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.storage.schema import Packed, pack, unpack
from tests.cases import each


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

"""Files of vectors."""

import numpy as np
import pytest

from nearkin import StorageError
from nearkin.search.neighbor_index import KIND, VERSION, read_index
from nearkin.storage.arrays import write_arrays
from tests.cases import each


@each("shape", [(0, 3), (3, 0)])
def test_an_index_without_vectors_is_refused(tmp_path, shape):
    arrays = {"vectors": np.zeros(shape), "ids": np.arange(shape[0])}
    write_arrays(tmp_path / "forged", KIND, VERSION, arrays, {})
    with pytest.raises(StorageError, match="holds no matrix"):
        read_index(tmp_path / "forged")

"""Arrays of NPZ files: what they claim to be is looked at before anything is unpacked."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.cli.failures import UserError
from nearkin.errors import InputError

_READ_HEADER = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_ENDING = ".npy"


class NpzArrays:
    """The arrays of a file, each unpacked when it is asked for.

    Parameters
    ----------
    path : Path
    name : str
        For messages.

    Attributes
    ----------
    shapes : dict
        Of all arrays, by their names.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._n_bytes: dict[str, int] = {}
        with self._refusing(), zipfile.ZipFile(path) as file:
            for member in file.infolist():
                if member.filename.endswith(_ENDING):
                    key = member.filename.removesuffix(_ENDING)
                    with file.open(member) as opened:
                        self.shapes[key], self._n_bytes[key] = _claimed(opened, member)

    def __getitem__(self, key: str) -> NDArray[Any]:
        with (
            self._refusing(),
            zipfile.ZipFile(self._path) as file,
            file.open(key + _ENDING) as opened,
        ):
            try:
                return np.lib.format.read_array(opened, allow_pickle=False)
            except MemoryError as error:
                raise UserError(
                    f"{self._name} unpacks to {self._n_bytes[key] / 1e9:.1f} GB, more memory than "
                    "there is: write its rows to an .npy file, which is read where it lies."
                ) from error

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except UserError:
            raise
        # The last two are of headers, and of ways to compress that this Python lacks.
        except (
            *(ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error),
            *(SyntaxError, TokenError, TypeError, OverflowError, RuntimeError),
        ) as error:
            raise UserError(f"{self._name} cannot be read as NPZ: {error}") from error


def _claimed(opened: IO[bytes], member: zipfile.ZipInfo) -> tuple[tuple[int, ...], int]:
    """Shape and number of bytes by an array's header, which the file must have as well."""
    version = np.lib.format.read_magic(opened)
    if version not in _READ_HEADER:
        raise InputError(f"{member.filename} is of version {version}, which has no numbers")
    shape, _, dtype = _READ_HEADER[version](opened)
    claimed, held = prod(shape) * dtype.itemsize, member.file_size - opened.tell()
    if claimed > held and not dtype.hasobject:
        raise InputError(f"{member.filename} is to have {claimed} bytes, and has {held}")
    return shape, claimed

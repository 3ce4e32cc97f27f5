"""A folder of pictures as a table: the file, the folder it is in, and its pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from nearkin.cli.failures import UserError
from nearkin.cli.files.column_choice import Kinds
from nearkin.cli.messages import say
from nearkin.errors import few
from nearkin.studio.pictures import SIDE, PictureFolder, read_pictures

FILE, FOLDER, PIXELS = "file", "folder", "pixels"


class PictureFiles:
    """Rows of pictures that can be read.

    Attributes
    ----------
    kinds : dict
        Of the columns: ``file``, ``pixels``, and ``folder`` if they are in several.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._found = _read(path.resolve())
        if not self._found.names:
            raise UserError(f"{name}: none of its pictures can be read. {_first(self._found)}")
        folders = [str(Path(one).parent.as_posix()) for one in self._found.names]
        self._columns = {FILE: self._found.names}
        if len(set(folders)) > 1:
            self._columns[FOLDER] = folders
        self.kinds: Kinds = {**dict.fromkeys(self._columns, "text"), PIXELS: "vector"}

    def batches(self, numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        """Some of the columns."""
        names = list(dict.fromkeys([*numbers, *others]))
        yield pa.record_batch({name: self._column(name) for name in names})

    def where(self, row: int) -> str:
        """The file of a row."""
        return self._found.names[row]

    def _column(self, name: str) -> Any:
        if name == PIXELS:
            return pa.FixedSizeListArray.from_arrays(pa.array(self._found.X.ravel()), SIDE * SIDE)
        return pa.array(self._columns[name], pa.string())


@lru_cache(maxsize=4)
def _read(path: Path) -> PictureFolder:
    """What a folder holds: a command asks more than once."""
    found = read_pictures(path)
    if found.problems and found.names:
        n = len(found.problems) + len(found.names)
        say(f"note: {len(found.problems)} of {n} pictures are left out. {_first(found)}")
    return found


def _first(found: PictureFolder) -> str:
    return few(found.problems.values(), 2)

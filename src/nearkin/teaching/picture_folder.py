"""A folder of pictures as rows: what there is in it, and numbers to begin with."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nearkin._types import Floats
from nearkin.teaching.thumbnails import FilePictures

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm")
# Height and width of the grey pictures that are learned from.
SIDE = 16
_MOST_THREADS = 4


@dataclass(frozen=True)
class PictureFolder:
    """Pictures that can be read, by their names.

    Attributes
    ----------
    names : list of str
        In the folder, with / between the parts, in alphabetical order.
    X : float32 ndarray of shape (n, 256)
        Greys from 0 (black) to 1 of 16 × 16 pixels, whatever the shape of a picture is.
    problems : dict
        Why other pictures could not be read, by their names.
    """

    names: list[str]
    X: Floats
    problems: dict[str, str]


def holds_pictures(folder: Path) -> bool:
    """Whether this is a folder that has pictures in it, and no tables."""
    files = list(_files(folder))
    return any(_is_picture(name) for name in files) and not any(
        name.lower().endswith(".parquet") for name in files
    )


def read_pictures(folder: Path) -> PictureFolder:
    """All pictures of a folder and of those in it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from nearkin.teaching.picture_folder import read_pictures
    >>> with tempfile.TemporaryDirectory() as name:
    ...     Image.new("RGB", (40, 30), "white").save(Path(name) / "a.png")
    ...     _ = (Path(name) / "b.png").write_text("no picture")
    ...     found = read_pictures(Path(name))
    >>> found.names, found.X.shape, found.X.min().item()
    (['a.png'], (1, 256), 1.0)
    >>> found.problems
    {'b.png': 'The picture b.png cannot be read: it is broken, or no picture.'}
    """
    names = sorted(name for name in _files(folder) if _is_picture(name))
    pictures = FilePictures(names, folder)
    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as pool:
        greys = list(pool.map(lambda row: _greys(pictures, row), range(len(names))))
    read = [row for row, found in enumerate(greys) if found is not None]
    X = np.array([greys[row] for row in read], dtype=np.float32).reshape(len(read), SIDE * SIDE)
    problems = {name: pictures.problem(row) for row, name in enumerate(names) if greys[row] is None}
    return PictureFolder([names[row] for row in read], X, problems)


def _greys(pictures: FilePictures, row: int) -> Floats | None:
    from PIL import Image

    found = pictures.image(row)
    if found is None:
        return None
    with Image.open(io.BytesIO(found[0])) as picture:
        seen = picture.convert("RGBA")  # what is behind it is white, as on the page by day
        seen = Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen)
        grey = seen.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(grey, dtype=np.float32).ravel() / 255


def _files(folder: Path) -> Iterator[str]:
    """Names of all files below a folder, without hidden ones."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if not name.startswith("."):
                yield (Path(place) / name).relative_to(folder).as_posix()


def _is_picture(name: str) -> bool:
    return name.lower().endswith(ENDINGS)

"""Thumbnails of records, from pixels or files. Needs Pillow (``pip install nearkin[studio]``)."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nearkin.errors import InputError, needing
from nearkin.rows.arrays import Floats
from nearkin.storage.silence import silenced
from nearkin.storage.whole_file import StrPath
from nearkin.teaching.picture_sizes import bytes_to_open

# A thumbnail's media type and bytes.
Image = tuple[bytes, str]

# Pixels of the longer side of a thumbnail, at most.
LONGEST_SIDE = 160
# Pictures that take more bytes of memory are not opened. That is 50 million pixels in colours of a
# PNG file, 12 million of a WebP file, and more than any camera has of a JPEG file.
_MOST_BYTES = 200_000_000
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM")


class Pictures(Protocol):
    """What records look like."""

    def image(self, row: int) -> Image | None:
        """Bytes and media type of a thumbnail, or None if there is none."""


@dataclass(frozen=True)
class PixelPictures:
    """Pictures whose grey values are the columns of X, dark where values are large.

    Parameters
    ----------
    X : ndarray of shape (n, height × width)
    shape : (int, int)
        Height and width.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.teaching.thumbnails import PixelPictures
    >>> content, kind = PixelPictures(np.eye(4), (2, 2)).image(0)
    >>> kind
    'image/png'
    """

    X: Floats
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        _pillow()
        height, width = self.shape
        if height * width != self.X.shape[1]:
            raise InputError(
                f"pictures of {height} × {width} pixels take {height * width} columns, but there "
                f"are {self.X.shape[1]}."
            )

    @cached_property
    def _range(self) -> tuple[float, float]:
        return float(self.X.min()), float(self.X.max())

    def image(self, row: int) -> Image | None:
        """Bytes and media type of a thumbnail, or None if there is none."""
        low, high = self._range
        grey = (self.X[row].reshape(self.shape) - low) / ((high - low) or 1.0)
        picture = _pillow().fromarray((255 * (1 - grey)).round().astype(np.uint8))
        times = LONGEST_SIDE // max(self.shape)
        if times > 1:  # each pixel a square, not blurred
            picture = picture.resize((times * picture.width, times * picture.height), 0)
        return _as_png(picture)


@dataclass(frozen=True)
class FilePictures:
    """Pictures in files whose names are a column of the data.

    Parameters
    ----------
    names : sequence of str or None
        Of each row's file, relative to the folder.
    folder : path
        No file outside it is ever read, whatever names and links say.
    """

    names: Sequence[Any]
    folder: StrPath

    def __post_init__(self) -> None:
        _pillow()

    def image(self, row: int) -> Image | None:
        """Bytes and media type of a thumbnail; None if the file is missing, too large or none."""
        path = self._path(self.names[row])
        if path is None:
            return None
        pillow = _pillow()
        broken = (OSError, ValueError, SyntaxError, EOFError, pillow.DecompressionBombError)
        try:
            with silenced():  # Pillow warns of many pixels, which are counted below
                picture = pillow.open(path, formats=_FORMATS)
            with picture:
                if bytes_to_open(picture, path) > _MOST_BYTES:
                    return None
                picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
                return _as_png(picture.convert("RGBA" if _has_alpha(picture) else "RGB"))
        except (*broken, Warning):  # a warning if the program has made errors of them
            return None

    def _path(self, name: Any) -> Path | None:
        """The file, if there is one inside the folder."""
        if not isinstance(name, str) or not name or "\0" in name:
            return None
        folder = Path(os.path.realpath(self.folder))
        try:
            path = Path(os.path.realpath(folder / name))
            return path if path.is_relative_to(folder) and path.is_file() else None
        except (OSError, ValueError):  # a name that no file can have
            return None


def _has_alpha(picture: Any) -> bool:
    return "A" in picture.getbands() or "transparency" in picture.info


def _as_png(picture: Any) -> Image:
    content = io.BytesIO()
    picture.save(content, "PNG")
    return content.getvalue(), "image/png"


def _pillow() -> Any:
    with needing("thumbnails need Pillow", "studio"):
        import PIL.Image
    return PIL.Image

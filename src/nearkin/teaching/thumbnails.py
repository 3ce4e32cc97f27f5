"""Pictures of records in several sizes, from pixels or files.

Needs Pillow (``pip install nearkin[studio]``).
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nearkin._types import Floats
from nearkin.errors import InputError, needing
from nearkin.messages import silenced
from nearkin.storage.files import StrPath
from nearkin.teaching.picture_sizes import bytes_to_open

# A picture's bytes and media type.
Image = tuple[bytes, str]

# Pixels of the longer side, at most: of a thumbnail, and where people look closer.
LONGEST_SIDE = 160
SIDES = (LONGEST_SIDE, 400, 800, 1600)
# Pictures that take more bytes of memory are not opened. That is 50 million pixels in colours of a
# PNG file, 12 million of a WebP file, and more than any camera has of a JPEG file.
_MOST_BYTES = 200_000_000
# Large ones of these are sent as JPEG, which is several times smaller.
_LOSSY = ("JPEG", "WEBP")
# Modes with more than 256 greys.
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L")
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM")


class Pictures(Protocol):
    """What records look like."""

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | None:
        """Bytes and media type of a picture of at most so many pixels, or None if there is none."""

    def problem(self, row: int) -> str:
        """Why there is none."""


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

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | None:
        """Bytes and media type of a picture of at most so many pixels."""
        low, high = self._range
        grey = (self.X[row].reshape(self.shape) - low) / ((high - low) or 1.0)
        picture = _pillow().fromarray((255 * (1 - grey)).round().astype(np.uint8))
        times = side // max(self.shape)
        if times > 1:  # each pixel a square, not blurred
            picture = picture.resize((times * picture.width, times * picture.height), 0)
        return _encoded(picture, "PNG")

    def problem(self, row: int) -> str:
        """Why there is none, which never is so."""
        return "There is no picture."


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

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | None:
        """Bytes and media type of a picture of at most so many pixels.

        None if the file is missing, broken or too large to open.
        """
        path = self._path(self.names[row])
        return None if path is None else self._opened(path, side)[0]

    def problem(self, row: int) -> str:
        """Why there is none, in a sentence."""
        name = self.names[row]
        if not isinstance(name, str) or not name:
            return "This record names no picture."
        path = self._path(name)
        if path is None:
            return f"The picture {name[:100]} is not there."
        return self._opened(path, LONGEST_SIDE)[1]

    def _opened(self, path: Path, side: int) -> tuple[Image | None, str]:
        """A picture, or None and the reason."""
        pillow = _pillow()
        broken = (OSError, ValueError, SyntaxError, EOFError)
        try:
            with silenced():  # Pillow warns of many pixels, which are counted below
                picture = pillow.open(path, formats=_FORMATS)
            with picture:
                size = f"{picture.width} × {picture.height}"
                sides = [one for one in SIDES if one <= side] or [side]
                fitting = [s for s in sides if bytes_to_open(picture, path, s) <= _MOST_BYTES]
                if not fitting:
                    return None, f"The picture {path.name} is too large to open: {size} pixels."
                kind = "JPEG" if side > LONGEST_SIDE and picture.format in _LOSSY else "PNG"
                return _shrunk(picture, max(fitting), kind), ""
        except pillow.DecompressionBombError:  # at the sight of its header
            return None, f"The picture {path.name} is too large to open: it has too many pixels."
        except (*broken, Warning):  # a warning if the program has made errors of them
            return None, f"The picture {path.name} cannot be read: it is broken, or no picture."

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


def _shrunk(picture: Any, side: int, kind: str) -> Image:
    """A picture as large as wanted at most, upright."""
    from PIL import ImageOps

    picture.thumbnail((side, side))
    upright = ImageOps.exif_transpose(picture)
    if upright.mode in _DEEP:
        upright = _in_greys(upright)
    if _has_alpha(upright):
        return _encoded(upright.convert("RGBA"), "PNG")
    return _encoded(upright.convert("RGB"), kind)


def _in_greys(picture: Any) -> Any:
    """Numbers from the least to the most as 256 greys, which Pillow would cut off at 255."""
    numbers = np.nan_to_num(np.asarray(picture, dtype=np.float64))
    low, high = numbers.min(), numbers.max()
    greys = 255 * (numbers - low) / ((high - low) or 1.0)
    return _pillow().fromarray(greys.round().astype(np.uint8))


def _encoded(picture: Any, kind: str) -> Image:
    content = io.BytesIO()
    picture.save(content, kind, **({"quality": 90} if kind == "JPEG" else {}))
    return content.getvalue(), f"image/{kind.lower()}"


def _pillow() -> Any:
    with needing("thumbnails need Pillow", "studio"):
        import PIL.Image
    return PIL.Image

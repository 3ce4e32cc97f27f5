"""Pictures as rows of numbers, and as thumbnails."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nearkin._types import Floats
from nearkin.errors import InputError, explain_missing_package
from nearkin.messages import mute_third_party
from nearkin.storage.files import StrPath

# Of a pixel with all its bands, as Pillow keeps it; all other modes take four.
_BYTES_OF_MODE = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2, "I;16L": 2}
# WebP's decoder has several copies of the whole picture.
_BYTES_OF_WEBP = 16
# The file may be decoded at an eighth of its width and height, or at a power of two of that, where
# it leaves twice as many pixels as are wanted.
_JPEG_SHRINKS = (8, 4, 2)
_JPEG_SPARE = 2
_TILE_WIDTH, _TILE_LENGTH = 322, 323


def bytes_to_open(picture: Any, path: Path, side: int) -> int:
    """Estimate the bytes of memory that it takes to decode a picture and make a thumbnail.

    Of the picture, a ``PIL.Image.Image``, only the header has been read; the longer side of the
    thumbnail has ``side`` pixels.
    """
    width, height = picture.size
    pixels = int(width * height)
    if picture.format == "WEBP":
        return pixels * _BYTES_OF_WEBP
    if picture.format == "JPEG":
        n_bands = len(picture.getbands())
        if _is_progressive_jpeg(path):  # then all of it is kept, two bytes a value
            return pixels * (2 * n_bands + 4)
        shrinks = (n for n in _JPEG_SHRINKS if min(width, height) >= n * _JPEG_SPARE * side)
        return pixels * 4 // next(shrinks, 1) ** 2
    of_pixel = _BYTES_OF_MODE.get(picture.mode, 4)
    if "A" in picture.getbands():
        of_pixel *= 2  # it is multiplied by its transparency first
    if picture.format == "TIFF":  # a tile or strip is decoded as a whole, and may be larger
        tags = picture.tag_v2
        tile = int(tags.get(_TILE_WIDTH, 0)) * int(tags.get(_TILE_LENGTH, 0))
        return pixels * of_pixel + 4 * max(tile, pixels)
    return pixels * of_pixel


def _is_progressive_jpeg(path: Path) -> bool:
    """Whether a JPEG file stores its picture in several scans, which decoders keep in memory."""
    n_bands = 0
    with path.open("rb") as file:
        file.read(2)
        while len(head := file.read(4)) == 4 and head[0] == 0xFF:
            kind, length = head[1], int.from_bytes(head[2:], "big")
            if kind == 0xFF:  # filled up before the marker
                file.seek(-3, 1)
                continue
            content = file.read(max(0, length - 2))
            if kind == 0xDA:  # the first scan
                return not content or content[0] < n_bands
            if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # the frame
                if kind & 3 == 2 or len(content) < 6:
                    return True
                n_bands = content[5]
    return True  # unlike any file that is written on purpose


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
    """Pictures of records, by row number."""

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | str:
        """A row's picture of at most ``side`` pixels, or a sentence why there is none."""


@dataclass(frozen=True)
class PixelPictures:
    """Pictures whose grey values are the columns of X, dark where values are large.

    >>> content, kind = PixelPictures(np.eye(4), (2, 2)).image(0)
    >>> kind
    'image/png'
    """

    X: Floats
    # Height and width.
    shape: tuple[int, int]

    def __post_init__(self) -> None:
        _import_pillow()
        height, width = self.shape
        if height * width != self.X.shape[1]:
            raise InputError(
                f"pictures of {height} × {width} pixels take {height * width} columns, but there "
                f"are {self.X.shape[1]}."
            )

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Smallest and largest value of X, drawn white and black."""
        return float(self.X.min()), float(self.X.max())

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | str:
        """Bytes and media type of a row's picture, its longer side at most ``side`` pixels."""
        low, high = self._range
        grey = (self.X[row].reshape(self.shape) - low) / ((high - low) or 1.0)
        picture = _import_pillow().fromarray((255 * (1 - grey)).round().astype(np.uint8))
        times = side // max(self.shape)
        if times > 1:  # each pixel a square, not blurred
            picture = picture.resize((times * picture.width, times * picture.height), 0)
        return _encode(picture, "PNG")


@dataclass(frozen=True)
class FilePictures:
    """Pictures in files whose names are a column of the data."""

    # Name of each row's file, relative to the folder; None if a row has no picture.
    names: Sequence[Any]
    # No file outside it is ever read, whatever names and links say.
    folder: StrPath

    def __post_init__(self) -> None:
        _import_pillow()

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | str:
        """A row's picture, its longer side at most ``side`` pixels.

        Or a sentence that says why there is none: the file is missing, broken or too large to open.
        """
        name = self.names[row]
        if not isinstance(name, str) or not name:
            return "This record names no picture."
        path = self._find_file(name)
        if path is None:
            return f"The picture {name[:100]} is not there."
        pillow = _import_pillow()
        broken = (OSError, ValueError, SyntaxError, EOFError)
        try:
            with mute_third_party():  # Pillow warns of many pixels, which are counted below
                picture = pillow.open(path, formats=_FORMATS)
            with picture:
                size = f"{picture.width} × {picture.height}"
                sides = [one for one in SIDES if one <= side] or [side]
                fitting = [s for s in sides if bytes_to_open(picture, path, s) <= _MOST_BYTES]
                if not fitting:
                    return f"The picture {path.name} is too large to open: {size} pixels."
                kind = "JPEG" if side > LONGEST_SIDE and picture.format in _LOSSY else "PNG"
                return _shrink(picture, max(fitting), kind)
        except pillow.DecompressionBombError:  # at the sight of its header
            return f"The picture {path.name} is too large to open: it has too many pixels."
        except (*broken, Warning):  # a warning if the program has made errors of them
            return f"The picture {path.name} cannot be read: it is broken, or no picture."

    def _find_file(self, name: str) -> Path | None:
        """Path of a file by its name; None if it is missing or outside the folder."""
        if "\0" in name:
            return None
        folder = Path(os.path.realpath(self.folder))
        try:
            path = Path(os.path.realpath(folder / name))
            return path if path.is_relative_to(folder) and path.is_file() else None
        except (OSError, ValueError):  # a name that no file can have
            return None


def _shrink(picture: Any, side: int, kind: str) -> Image:
    """Turn a picture upright, shrink it to ``side`` pixels, and encode it as PNG or JPEG."""
    from PIL import ImageOps

    picture.thumbnail((side, side))
    upright = ImageOps.exif_transpose(picture)
    if upright.mode in _DEEP:
        upright = _convert_to_grey(upright)
    if "A" in upright.getbands() or "transparency" in upright.info:
        return _encode(upright.convert("RGBA"), "PNG")
    return _encode(upright.convert("RGB"), kind)


def _convert_to_grey(picture: Any) -> Any:
    """Scale a picture of numbers to 256 greys; Pillow itself would cut them off at 255."""
    numbers = np.nan_to_num(np.asarray(picture, dtype=np.float64))
    low, high = numbers.min(), numbers.max()
    greys = 255 * (numbers - low) / ((high - low) or 1.0)
    return _import_pillow().fromarray(greys.round().astype(np.uint8))


def _encode(picture: Any, kind: str) -> Image:
    """Encode a Pillow picture as PNG or JPEG; returns bytes and media type."""
    content = io.BytesIO()
    picture.save(content, kind, **({"quality": 90} if kind == "JPEG" else {}))
    return content.getvalue(), f"image/{kind.lower()}"


def _import_pillow() -> Any:
    """Import ``PIL.Image``, or raise an error that says how to install it."""
    with explain_missing_package("thumbnails need Pillow", "studio"):
        import PIL.Image
    return PIL.Image


ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm")
# Height and width of the grey pictures that are learned from.
SIDE = 16
_MOST_THREADS = 4


@dataclass(frozen=True)
class PictureFolder:
    """Pictures of a folder as rows of numbers."""

    # Paths below the folder, with / between the parts, in alphabetical order.
    names: list[str]
    # Greys from 0 (black) to 1 of 16 × 16 pixels, whatever the shape of a picture is.
    X: Floats
    # From names of pictures that could not be read to a sentence that says why.
    problems: dict[str, str]


def holds_pictures(folder: Path) -> bool:
    """Whether there is a picture, and no Parquet file, anywhere below a folder."""
    files = list(_list_files(folder))
    return any(_is_picture(name) for name in files) and not any(
        name.lower().endswith(".parquet") for name in files
    )


def read_pictures(folder: Path) -> PictureFolder:
    """Read all pictures below a folder as rows of 16 × 16 grey values.

    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as name:
    ...     Image.new("RGB", (40, 30), "white").save(Path(name) / "a.png")
    ...     _ = (Path(name) / "b.png").write_text("no picture")
    ...     found = read_pictures(Path(name))
    >>> found.names, found.X.shape, found.X.min().item()
    (['a.png'], (1, 256), 1.0)
    >>> found.problems
    {'b.png': 'The picture b.png cannot be read: it is broken, or no picture.'}
    """
    names = sorted(name for name in _list_files(folder) if _is_picture(name))
    pictures = FilePictures(names, folder)
    with ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1)) as pool:
        greys = list(pool.map(lambda row: _read_greys(pictures, row), range(len(names))))
    read = [row for row, found in enumerate(greys) if not isinstance(found, str)]
    X = np.array([greys[row] for row in read], dtype=np.float32).reshape(len(read), SIDE * SIDE)
    problems = {name: one for name, one in zip(names, greys, strict=True) if isinstance(one, str)}
    return PictureFolder([names[row] for row in read], X, problems)


def _read_greys(pictures: FilePictures, row: int) -> Floats | str:
    """Read a picture as 256 grey values from 0 to 1, or say why it cannot be read."""
    from PIL import Image

    found = pictures.image(row)
    if isinstance(found, str):
        return found
    with Image.open(io.BytesIO(found[0])) as picture:
        seen = picture.convert("RGBA")  # what is behind it is white, as on the page by day
        seen = Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen)
        grey = seen.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(grey, dtype=np.float32).ravel() / 255


def _list_files(folder: Path) -> Iterator[str]:
    """Iterate over the paths of all files below a folder, relative to it, without hidden ones."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in files:
            if not name.startswith("."):
                yield (Path(place) / name).relative_to(folder).as_posix()


def _is_picture(name: str) -> bool:
    """Whether a file's name ends like a picture's."""
    return name.lower().endswith(ENDINGS)

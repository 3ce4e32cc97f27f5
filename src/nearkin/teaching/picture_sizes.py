"""How much memory a picture takes when it is opened, by what its header says.

A file of a few kilobytes can claim any number of pixels, so this is asked before they are decoded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
    """Bytes that it takes to make a smaller one of a picture, of which only the header was read.

    Parameters
    ----------
    picture : PIL.Image.Image
    path : Path
        Its file.
    side : int
        Pixels of the longer side of the smaller one.
    """
    width, height = picture.size
    pixels = int(width * height)
    if picture.format == "WEBP":
        return pixels * _BYTES_OF_WEBP
    if picture.format == "JPEG":
        n_bands = len(picture.getbands())
        if _comes_in_several_scans(path):  # then all of it is kept, two bytes a value
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


def _comes_in_several_scans(path: Path) -> bool:
    """Whether a JPEG file has its picture in layers, each over the whole of it."""
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

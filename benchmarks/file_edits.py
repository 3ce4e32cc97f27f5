"""What accidents and forgers do to files, as lists of JSON values.

An edit is a list: its name, and what it takes. Places are shares of the file's length, so that an
edit makes sense in any file, also after edits before it were left out.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

Edit = list[Any]

# Pieces that are put into files, by name: texts and bytes that readers trip over.
PIECES: dict[str, bytes] = {
    "nothing": b"",
    "zero byte": b"\0",
    "mark of utf-8": b"\xef\xbb\xbf",
    "mark of utf-16": b"\xff\xfe",
    "latin-1": b"caf\xe9",
    "half a letter": b"\xc3",
    "surrogate": b"\xed\xa0\x80",
    "emoji": "🙂".encode(),
    "combining": "e\u0301\u202e".encode(),
    "escape": b"\x1b[2J",
    "quote": b'"',
    "two quotes": b'""',
    "newline": b"\n",
    "return": b"\r",
    "both": b"\r\n",
    "newline in quotes": b'"a\nb"',
    "comma": b",",
    "many commas": b"," * 5000,
    "tab": b"\t",
    "semicolon": b";",
    "backslash": b"\\",
    "inf": b"inf",
    "minus inf": b"-Infinity",
    "nan": b"NaN",
    "null": b"null",
    "true": b"true",
    "none": b"None",
    "too large": b"1e400",
    "tiny": b"1e-320",
    "minus zero": b"-0.0",
    "long number": b"9" * 400,
    "beyond 64 bits": b"18446744073709551617",
    "hexadecimal": b"0x1F",
    "underscore": b"1_000",
    "thousands": b"1,234.5",
    "date": b"2024-02-30",
    "formula": b"=1+1",
    "word": b"a word",
    "same word": b"n0",
    "empty list": b"[]",
    "vector": b"[1, 2.5, null]",
    "nested": b"[[1], {}]",
    "empty object": b"{}",
    "object": b'{"a": 1}',
    "twice": b'{"a": 1, "a": 2}',
    "deep list": b"[" * 100_000,
    "deep object": b'{"a":' * 50_000,
    "long text": b"x" * 300_000,
    "many lines": b"\n" * 5000,
    "zip": b"\x1f\x8b\x08\x00",
    "parquet": b"PAR1",
}


def drawn_edits(rng: np.random.Generator, *, texts: bool) -> list[Edit]:
    """One to three accidents; of texts also cells that are replaced."""
    return [_drawn(rng, texts) for _ in range(1 + min(2, rng.geometric(0.6) - 1))]


def _drawn(rng: np.random.Generator, texts: bool) -> Edit:
    first, last = sorted(round(float(share), 4) for share in rng.random(2))
    piece = list(PIECES)[rng.integers(len(PIECES))]
    if texts and rng.random() < 0.6:
        return ["cell", first, round(float(rng.random()), 4), piece]
    kind = rng.choice(["flip", "cut", "end", "noise", "zeros", "repeat", "move", "insert"])
    match kind:
        case "flip":
            # Often near an end, where headers are.
            at = first**4 if rng.random() < 0.4 else 1 - first**4 if rng.random() < 0.4 else first
            return ["flip", round(at, 6), int(rng.integers(8))]
        case "end":
            return ["end", first]
        case "noise":
            return ["noise", first, min(last, first + 0.02), int(rng.integers(1000))]
        case "repeat":
            return ["repeat", first, last, int(rng.integers(2, 6))]
        case "insert":
            return ["insert", first, piece]
        case _:
            return [str(kind), first, last]


def edited(data: bytes, edits: list[Edit]) -> bytes:
    """The bytes of a file after some edits."""
    for name, *taken in edits:
        n = len(data)
        match name, taken:
            case "flip", [at, bit] if n:
                changed = bytearray(data)
                changed[min(int(at * n), n - 1)] ^= 1 << bit % 8
                data = bytes(changed)
            case "end", [at]:
                data = data[: int(at * n)]
            case "cut", [first, last]:
                data = data[: int(first * n)] + data[int(last * n) :]
            case "noise", [first, last, seed]:
                begin, end = int(first * n), int(last * n) + 1
                data = data[:begin] + np.random.default_rng(seed).bytes(end - begin) + data[end:]
            case "zeros", [first, last]:
                begin, end = int(first * n), int(last * n)
                data = data[:begin] + bytes(end - begin) + data[end:]
            case "repeat", [first, last, times]:
                begin, end = int(first * n), int(last * n)
                data = data[:end] + data[begin:end] * (times - 1) + data[end:]
            case "move", [first, last]:
                begin, end = int(first * n), int(last * n)
                data = data[:begin] + data[end:] + data[begin:end]
            case "insert", [at, piece]:
                data = data[: int(at * n)] + PIECES[piece] + data[int(at * n) :]
            case "cell", [row, column, piece]:
                data = _with_cell(data, row, column, PIECES[piece])
    return data


def _with_cell(data: bytes, row: float, column: float, piece: bytes) -> bytes:
    """A text table, or JSON lines, with another value in one place."""
    lines = data.split(b"\n")
    number = min(int(row * len(lines)), len(lines) - 1)
    line = lines[number]
    delimiter = b"\t" if b"\t" in line else b","
    cells = line.split(delimiter)
    at = min(int(column * len(cells)), len(cells) - 1)
    key, colon, _ = cells[at].partition(b": ")
    closing = b"}" if cells[at].endswith(b"}") else b""
    cells[at] = key + colon + piece + closing if colon else piece
    lines[number] = delimiter.join(cells)
    return b"\n".join(lines)


# What says something in JSON


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key within a JSON value."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        for key in list(here) if isinstance(here, dict) else range(len(here)):
            yield here, key
            if isinstance(here[key], dict | list):
                waiting.append(here[key])


def change_somewhere(content: Any, rng: np.random.Generator, values: list[Any]) -> None:
    """Replace, copy, remove, multiply or rename something within a JSON value."""
    found = list(places(content))
    if not found:
        return
    here, key = found[rng.integers(len(found))]
    there, other = found[rng.integers(len(found))]
    match rng.integers(7):
        case 0 | 1:
            with suppress(RecursionError):
                here[key] = copy.deepcopy(values[rng.integers(len(values))])
        case 2 | 3:
            with suppress(RecursionError):
                here[key] = copy.deepcopy(there[other])
        case 4:
            del here[key]
        case 5:
            lists = [(h, k) for h, k in found if isinstance(h[k], list) and h[k]]
            if lists:
                where, name = lists[rng.integers(len(lists))]
                where[name] = where[name] * int(rng.choice([2, 30, 300]))
        case _ if isinstance(here, dict):
            names = ["transform", "__class__", "_embed", "fit", "threshold_", "state", "do", "left"]
            here[names[rng.integers(len(names))]] = here.pop(key)


def deep(depth: int) -> Any:
    """A JSON value of so many lists and objects within each other."""
    made: Any = 0
    for level in range(depth):
        made = [made] if level % 2 else {"tuple": [made]}
    return made

"""Folders of pictures in the studio: what is shown of them, and vectors in place of pixels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from nearkin._types import Floats
from nearkin.cli.failures import UserError
from nearkin.cli.files.picture_files import FILE, PIXELS
from nearkin.cli.messages import say
from nearkin.cli.studio_rows import Wishes
from nearkin.rows.streams import mapped_array
from nearkin.studio.pictures import SIDE, holds_pictures
from nearkin.studio.records import Records


def is_picture_folder(path: Path) -> bool:
    """Whether the rows are pictures."""
    return path.is_dir() and holds_pictures(path)


def for_pictures(wishes: Wishes) -> Wishes:
    """Wishes of a user who named a folder of pictures: they are shown, and called by their names.

    The pixels are learned from; the folders are only shown and to colour by, unless they are named.
    """
    choice = wishes.choice
    if not choice.columns:
        choice = replace(choice, columns=[PIXELS])
    return replace(
        wishes,
        image=wishes.image or FILE,
        choice=replace(choice, id_column=choice.id_column or FILE),
    )


def of_pictures(records: Records, vectors: Path | None) -> Records:
    """Records of pictures with what is said of their pixels, or with vectors in their place."""
    if vectors is None:
        told = (
            f"The metric is learned from small grey pictures of {SIDE} × {SIDE} pixels: vectors of "
            "a network tell more, as in --vectors FILE.npy."
        )
        say(told)
        return replace(records, notes=(*records.notes, told))
    return _with_vectors(records, vectors)


def _with_vectors(records: Records, path: Path) -> Records:
    try:
        X = mapped_array(path, str(path))
    except (OSError, ValueError) as error:
        raise UserError(
            f"--vectors: {path} cannot be read as an array of numbers: {error}"
        ) from error
    if X.ndim != 2 or len(X) != records.n_total:
        raise UserError(
            f"--vectors: {path} has the shape {X.shape}, but there are {records.n_total} pictures "
            f"that can be read: give one row for each, in the order of their names "
            f"({records.ids[0]!r} is the first)."
        )
    wide = np.float32 if X.dtype == np.float32 else np.float64
    rows: Floats = np.asarray(X[records.numbers]).astype(wide)
    names = [f"x{j}" for j in range(rows.shape[1])]
    return replace(records, X=rows, features=names, named=False, remembered={})

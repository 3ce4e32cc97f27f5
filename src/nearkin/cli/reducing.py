"""Fewer columns for rows in a learned space."""

from __future__ import annotations

import numpy as np

from nearkin._types import Floats
from nearkin.cli.failures import UserError
from nearkin.cli.messages import say
from nearkin.rows.streams import RowStream
from nearkin.spaces.linalg import fix_signs


def along_axes(rows: RowStream, n: int) -> RowStream:
    """Rows along their first principal axes. They are read once for these, and then again.

    Memory for q × q numbers, where rows have q columns.
    """
    q = rows.n_columns
    if n > q:
        raise UserError(f"--components {n}: rows have {q} columns in the learned space.")
    mean, covariance = rows.moments()
    variances, vectors = np.linalg.eigh(covariance)
    axes = fix_signs(vectors[:, ::-1][:, :n])
    total = float(variances.sum())
    if total > 0:
        say(f"{n} of {q} columns have {variances[::-1][:n].sum() / total:.0%} of the variance")

    def project(block: Floats) -> Floats:
        return np.asarray((block - mean) @ axes, dtype=block.dtype)

    return rows.mapped(project, [f"axis{j}" for j in range(n)])

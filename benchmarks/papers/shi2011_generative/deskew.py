"""Upright digits: sheared so that rows and columns of the ink are uncorrelated."""

from __future__ import annotations

import numpy as np

Images = np.ndarray
_AT_A_TIME = 2000


def deskewed(images: Images) -> Images:
    """Images whose slant is taken out and whose centre of mass is in the middle.

    The pixel (r, c) of the result is taken, between pixels linearly, from (r', c') with
    r' = r + m_r and c' = c + m_c + s r, all counted from the middle; m is the centre of mass and
    s the covariance of rows and columns divided by the variance of rows.

    Parameters
    ----------
    images : ndarray of shape (n, height, width)
        Not negative.
    """
    upright = np.empty_like(images)
    for start in range(0, len(images), _AT_A_TIME):
        block = slice(start, start + _AT_A_TIME)
        upright[block] = _deskewed_block(images[block])
    return upright


def _deskewed_block(images: Images) -> Images:
    n, height, width = images.shape
    r = np.arange(height) - (height - 1) / 2
    c = np.arange(width) - (width - 1) / 2
    ink = np.maximum(images.sum(axis=(1, 2)), 1e-12)
    by_row, by_column = images.sum(axis=2), images.sum(axis=1)
    mean_r, mean_c = by_row @ r / ink, by_column @ c / ink
    variance = by_row @ r**2 / ink - mean_r**2
    covariance = np.einsum("nrc,r,c->n", images, r, c) / ink - mean_r * mean_c
    slant = covariance / np.maximum(variance, 1e-12)

    rows = r[None, :] + mean_r[:, None] + (height - 1) / 2
    columns = c[None, None, :] + mean_c[:, None, None] + slant[:, None, None] * r[None, :, None]
    columns = columns + (width - 1) / 2
    rows = np.broadcast_to(rows[:, :, None], columns.shape)
    # A frame of zeros, so that what lies outside is white.
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    rows = np.clip(rows + 1, 0, height + 1 - 1e-6)
    columns = np.clip(columns + 1, 0, width + 1 - 1e-6)
    top, left = rows.astype(int), columns.astype(int)
    down, right = rows - top, columns - left
    flat = framed.reshape(n, -1)

    def pixels(row: Images, column: Images) -> Images:
        places = (row * (width + 2) + column).reshape(n, -1)
        return np.take_along_axis(flat, places, axis=1).reshape(n, height, width)

    above = (1 - right) * pixels(top, left) + right * pixels(top, left + 1)
    below = (1 - right) * pixels(top + 1, left) + right * pixels(top + 1, left + 1)
    return (1 - down) * above + down * below

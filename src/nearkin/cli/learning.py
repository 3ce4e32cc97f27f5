"""What fit and transform do: learn from a file, hold rows out, shorten results."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearkin._types import Floats, Mask
from nearkin.cli.common import UserError, say
from nearkin.cli.costs import announce, refuse_what_cannot_fit
from nearkin.cli.files.pairs import pairs_of, triplets_of
from nearkin.cli.files.tables import NamedRows
from nearkin.cli.judging import (
    Score,
    can_be_judged,
    scores_by_labels,
    scores_by_pairs,
    scores_by_triplets,
)
from nearkin.cli.models import Model
from nearkin.cli.options import landmarks_for
from nearkin.errors import counted
from nearkin.learners.compositions import Chain
from nearkin.learners.euclidean import Euclidean
from nearkin.messages import mute_categories
from nearkin.pairs.answers import Answers
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import ContradictionWarning
from nearkin.rows.backends import ROWS_FOR_UNITS, Block, evenly_spaced
from nearkin.rows.parallel import start_loading_numba
from nearkin.rows.scaling import ScaleWarning, fit_scaler, warn_of_units
from nearkin.rows.streams import RowStream
from nearkin.scores.held_out import deal_rows
from nearkin.spaces.linalg import fix_signs

# Numbers of rows that are read as a whole, where a learner could do with blocks: 64 MB.
_MOST_READ = 2**23


def known_pairs(
    table: NamedRows, path: Path | None, delimiter: str | None, triplets: Path | None = None
) -> Pairs | None:
    """Pairs of a table's rows from a file, and triplets from another; None without either."""
    return known_of(table, path, delimiter, triplets)[0]


def known_of(
    table: NamedRows, path: Path | None, delimiter: str | None, triplets: Path | None = None
) -> tuple[Pairs | None, Answers | None]:
    """The same, and beside it who said what, where the file says so and there are no triplets."""
    found, answers = [], None
    if path is not None:
        file = pairs_of(table, path, delimiter=delimiter)
        answers = file.answers(table.n_rows)
        found.append(file.pairs(table.n_rows) if answers is None else answers.pairs)
        if not len(found[0]):
            raise UserError(f"{path} says nothing: no pair is the same or different.")
    if triplets is not None:
        found.append(triplets_of(table, triplets, delimiter=delimiter))
        answers = None
    return (sum(found[1:], found[0]) if found else None), answers


def learned(
    cls: Any,
    settings: dict[str, Any],
    rows: RowStream,
    y: Any,
    pairs: Pairs | Answers | None,
    *,
    standardise: bool,
    components: int | None = None,
    encoder: Any = None,
) -> Any:
    """Metric of this class, with the names of the columns.

    Where an encoder made the rows of words, their columns have one width, and belong together.

    Rows are read block by block, as often as the learner needs, if it can and they are many.
    """
    n, d = rows.shape
    if encoder is not None:
        known = {"groups": encoder.groups_.tolist(), "scale": False}
        usual = {name: one for name, one in known.items() if name in signature(cls).parameters}
        settings = {**usual, **settings}
    landmarks = landmarks_for(cls, settings, n)
    if landmarks is not None:
        settings = {**settings, "n_landmarks": landmarks}
        say(f"{n} rows are many: {landmarks} of them serve as landmarks (--set n_landmarks=...).")
    is_reduced = components is not None and "n_components" not in signature(cls).parameters
    if components is not None and not is_reduced:
        settings = {**settings, "n_components": components}
    learner = cls(**settings)
    by_blocks = getattr(cls, "_remote", False) and n * d > _MOST_READ and not is_reduced
    if rows.device is not None:
        by_blocks = getattr(cls, "_remote", False) and not is_reduced
        if not by_blocks:
            raise UserError(
                f"--device: {cls.__name__} needs all rows at once on the host"
                f"{' for --components' * is_reduced}; --learner kernel-beta works there."
            )
    refuse_what_cannot_fit(learner, rows, by_blocks=by_blocks)
    if by_blocks:
        start_loading_numba()
    start = time.perf_counter()
    X: Any = rows if by_blocks else rows.to_numpy()
    if not standardise and encoder is None and getattr(learner, "scale", None) is False:
        named = SimpleNamespace(feature_names_in_=rows.names)
        warn_of_units(named, X, "--standardise gives all columns the same say.")
    if by_blocks:
        announce(learner, rows, _number_of(pairs), time.perf_counter() - start)
    with mute_categories(ScaleWarning):
        if standardise:
            metric = _standardised(learner, X, y, pairs)
        else:
            metric = learner.fit(X, y, pairs=pairs)
    if components is not None:
        if is_reduced and components < metric.n_components_:
            metric = _reduced(metric, X, y, pairs, components, settings.get("random_state"))
        if metric.n_components_ < components:
            say(
                f"note: the learned distance has {counted(metric.n_components_, 'dimension')}, so "
                f"that rows have {counted(metric.n_components_, 'column')}, not {components}."
            )
    if rows.names is not None:
        metric.feature_names_in_ = np.array(rows.names, dtype=object)
    return metric


def _number_of(pairs: Pairs | Answers | None) -> int:
    known = pairs.pairs if isinstance(pairs, Answers) else pairs
    return 0 if known is None else len(known)


def _reduced(
    metric: Any, X: Any, y: Any, pairs: Pairs | Answers | None, components: int, seed: int | None
) -> Chain:
    """A metric along the principal axes of what it makes of its rows; it judges anew by pairs."""
    from sklearn.decomposition import PCA

    axes = [PCA(min(components, len(X)), random_state=seed), Euclidean(random_state=seed)]
    vars(metric).pop("feature_names_in_", None)
    with mute_categories(ContradictionWarning, ScaleWarning):  # of which the metric has a word
        reduced = Chain(axes).fit(metric.transform(X), y, pairs=pairs)
    is_chain = isinstance(metric, Chain)
    given, fitted = (metric.steps, metric.steps_) if is_chain else ([metric], [metric])
    return Chain([*given, *axes])._made_of([*fitted, *reduced.steps_], X.shape[1])


def _standardised(learner: Any, X: Any, y: Any, pairs: Any) -> Chain:
    """A chain that standardises rows first, in memory or block by block."""
    d = X.shape[1]
    if isinstance(X, RowStream):
        scaler = fit_scaler(X)
        seen: Any = X.mapped(scaler.transform, [f"x{j}" for j in range(d)])
    else:
        scaler = fit_scaler([X])
        seen = scaler.transform(X)
    fitted = learner.fit(seen, y, pairs=pairs)
    vars(fitted).pop("feature_names_in_", None)  # names of its own, not the data's
    return Chain([clone(scaler), clone(learner)])._made_of([scaler, fitted], d)


# Rows that are kept apart while a metric is learned, to see how good it is.


# Draws until there are pairs of both kinds to judge by.
_MOST_DRAWS = 100


@dataclass(frozen=True)
class Part:
    """Some rows of a file, with what is known of them."""

    rows: RowStream
    labels: Any
    pairs: Pairs | None
    answers: Answers | None = None

    def told(self, learner: type) -> Pairs | Answers | None:
        """What a learner learns from: who said what, if it can tell who is right."""
        takes_answers = getattr(learner, "_takes_answers", False)
        return self.answers if takes_answers and self.answers is not None else self.pairs

    def chosen(self, rows: Mask) -> Part:
        """Some of them; of pairs and triplets, those that have all their rows there."""
        return Part(
            rows=_chosen(self.rows, np.flatnonzero(rows)),
            labels=None if self.labels is None else self.labels[rows],
            pairs=None if self.pairs is None else self.pairs.restrict(rows),
            answers=None if self.answers is None else self.answers.restrict(rows),
        )

    def scores(self, model: Model, seed: int) -> list[Score]:
        """How good a model is here, by whatever there is to judge by."""
        found: list[Score] = []
        if _has_both(self.pairs):
            assert self.pairs is not None
            found += scores_by_pairs(model, self.rows, self.pairs, "--pairs")
        if _has_triplets(self.pairs):
            assert self.pairs is not None
            found += scores_by_triplets(model, self.rows, self.pairs)
        if can_be_judged(self.labels):
            found += scores_by_labels(model, self.rows, self.labels, seed)
        return found


def kept_apart(whole: Part, share: float, seed: int) -> tuple[Part, Part]:
    """Rows to learn from, and a share of them to judge by, drawn at random.

    Rows that pairs and triplets tie together stay together, so that nothing is known of those to
    judge by. Where nearly all hang together they cannot, and what is said of rows of both parts is
    not used.
    """
    rng = np.random.RandomState(seed)
    for _ in range(_MOST_DRAWS):
        shares = (1 - share, share)
        fold = deal_rows(whole.pairs or Pairs(), len(whole.rows), shares, rng, largest_first=False)
        drawn = fold == 1
        test = whole.chosen(drawn)
        by_pairs = [kind(test.pairs) for kind in (_has_both, _has_triplets) if kind(whole.pairs)]
        if all(by_pairs) if whole.pairs is not None else can_be_judged(test.labels):
            break
    else:
        if not any(by_pairs) and not can_be_judged(test.labels):
            raise UserError(
                f"--test {share:g}: the {counted(int(drawn.sum()), 'row')} kept apart have no "
                "pairs that are the same and others that are different to judge by. Give more "
                "pairs, or keep more rows apart."
            )
    learn = whole.chosen(~drawn)
    if len(learn.rows) < 2 or not (learn.labels is not None or learn.pairs):
        raise UserError(f"--test {share:g} leaves nothing to learn from.")
    return learn, test


def what_is_apart(whole: Part, learn: Part, test: Part) -> str:
    """In words, with what is not used."""
    said = f"{len(test.rows)} of {len(whole.rows)} rows are kept apart"
    apart, between = [], []
    for kind in ("pair", "triplet"):
        n, n_learn, n_test = (_number_of_kind(kind, part.pairs) for part in (whole, learn, test))
        if n:
            apart.append(f"{n_test} of {counted(n, kind)}")
        if n > n_learn + n_test:
            between.append(counted(n - n_learn - n_test, kind))
    said += f", with {' and '.join(apart)}" * bool(apart)
    return said + f"; not used: {' and '.join(between)} between them and the others" * bool(between)


def _has_both(pairs: Pairs | None) -> bool:
    return pairs is not None and min(len(pairs.must_link), len(pairs.cannot_link)) > 0


def _has_triplets(pairs: Pairs | None) -> bool:
    return _number_of_kind("triplet", pairs) > 0


def _number_of_kind(kind: str, pairs: Pairs | None) -> int:
    if pairs is None:
        return 0
    return len(pairs.closer) if kind == "triplet" else len(pairs) - len(pairs.closer)


def _chosen(rows: RowStream, numbers: NDArray[np.int64]) -> RowStream:
    """Some rows of a stream, read as it is."""

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        for block in rows.blocks(None if wanted is None else numbers[wanted]):
            first, last = np.searchsorted(numbers, [block.start, block.start + len(block.rows)])
            yield Block(int(first), block.rows[numbers[first:last] - block.start])

    return rows.read_by(read, len(numbers))


# What is done with the rows of a large file while they are read, and while others do other
# things.


# Numbers of rows that are worth a thread, and for which nobody who interrupts it has to wait.
_FEWEST, _MOST = 2**22, 2**29


@contextmanager
def read_ahead(rows: RowStream) -> Iterator[None]:
    """Have the rows at hand that learners look at first, while modules are imported.

    To read a file takes hardly anything of Python, and imports nothing else.
    """
    n, d = rows.shape

    def read() -> None:
        with suppress(Exception):  # who needs the rows meets it again
            rows.take(evenly_spaced(n, ROWS_FOR_UNITS))

    if not _FEWEST < n * d < _MOST:
        yield
        return
    thread = threading.Thread(target=read, name="nearkin-read-ahead")
    thread.start()
    try:
        yield
    finally:
        thread.join()


# Fewer columns for rows in a learned space.


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

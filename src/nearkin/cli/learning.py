"""Learn a metric from an open file."""

from __future__ import annotations

import time
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import clone

from nearkin.cli.costs import announce, refuse_what_cannot_fit
from nearkin.cli.failures import UserError
from nearkin.cli.files.named_rows import NamedRows
from nearkin.cli.files.pairs import pairs_of, triplets_of
from nearkin.cli.learners import landmarks_for
from nearkin.cli.messages import say
from nearkin.errors import counted
from nearkin.learners.compositions import Chain
from nearkin.learners.euclidean import Euclidean
from nearkin.messages import leaving_out
from nearkin.pairs.answers import Answers
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import ContradictionWarning
from nearkin.rows.parallel import get_ready
from nearkin.rows.scaling import ScaleWarning, fitted_scaler, warn_of_units
from nearkin.rows.streams import RowStream

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
        get_ready()
    start = time.perf_counter()
    X: Any = rows if by_blocks else rows.to_numpy()
    if not standardise and encoder is None and getattr(learner, "scale", None) is False:
        named = SimpleNamespace(feature_names_in_=rows.names)
        warn_of_units(named, X, "--standardise gives all columns the same say.")
    if by_blocks:
        announce(learner, rows, _number_of(pairs), time.perf_counter() - start)
    with leaving_out(ScaleWarning):
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
    with leaving_out(ContradictionWarning, ScaleWarning):  # of which the metric has a word
        reduced = Chain(axes).fit(metric.transform(X), y, pairs=pairs)
    is_chain = isinstance(metric, Chain)
    given, fitted = (metric.steps, metric.steps_) if is_chain else ([metric], [metric])
    return Chain([*given, *axes])._made_of([*fitted, *reduced.steps_], X.shape[1])


def _standardised(learner: Any, X: Any, y: Any, pairs: Any) -> Chain:
    """A chain that standardises rows first, in memory or block by block."""
    d = X.shape[1]
    if isinstance(X, RowStream):
        scaler = fitted_scaler(X)
        seen: Any = X.mapped(scaler.transform, [f"x{j}" for j in range(d)])
    else:
        scaler = fitted_scaler([X])
        seen = scaler.transform(X)
    fitted = learner.fit(seen, y, pairs=pairs)
    vars(fitted).pop("feature_names_in_", None)  # names of its own, not the data's
    return Chain([clone(scaler), clone(learner)])._made_of([scaler, fitted], d)

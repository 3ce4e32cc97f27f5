"""``nearkin fit``: learn a metric and write it to a model file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import (
    UserError,
    answers,
    backends,
    estimates,
    folds,
    models,
    np,
    outputs,
    pair_files,
    parallel,
    say,
    scaling,
    sklearn_base,
    storage,
    streams,
    tables,
    watch_steps,
)
from nearkin.cli.evaluate import (
    can_be_judged,
    score_by_labels,
    score_by_pairs,
    score_by_triplets,
    tabulate_scores,
)
from nearkin.cli.files.inputs import is_standard_output
from nearkin.cli.transform import write_embedding
from nearkin.errors import counted
from nearkin.messages import mute_categories

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearkin._types import Mask

# Numbers of rows that are read as a whole, where a learner could do with blocks: 64 MB.
_MOST_READ = 2**23
# Numbers of rows that are worth a thread, and for which nobody who interrupts it has to wait.
_FEWEST, _MOST = 2**22, 2**29
# Draws of rows to hold out until there are pairs of both kinds to judge by.
_MOST_DRAWS = 100


def fit(
    data: Path = o.DATA,
    output: Path = o.option("--output -o FILE", "The model file, by custom .nearkin.", ...),
    pairs: Path | None = o.PAIRS,
    triplets: Path | None = o.TRIPLETS,
    labels: str | None = o.LABELS,
    learner: str = o.option(
        "--learner NAME",
        "auto compares many, on 5000 rows of large files. These are read block by block "
        "by kernel-beta, itml, gmml, cosine, plda, column-weights, rca, generative and "
        "euclidean; not by kernel-a, llma, geometry-aware, lmnn.",
        "auto",
        autocompletion=o.complete(*o.CLASSES),
    ),
    settings: list[str] = o.SETTINGS,
    standardise: bool = o.option(
        "--standardise/--no-standardise",
        "Bring all columns to mean 0 and variance 1 first. The model remembers it.",
        False,
    ),
    components: int | None = o.COMPONENTS,
    test: float | None = o.option(
        "--test SHARE",
        "Keep this share of the rows apart, such as 0.2, with all that pairs tie to them; "
        "learn from the others, and show how good the model is on these, beside the Euclidean "
        "distance.",
    ),
    embedding: Path | None = o.option(
        "--embedding FILE", "Write the rows in the learned space too, as nearkin transform would."
    ),
    forget_names: bool = o.option(
        "--forget-names",
        "Leave the names of columns out of the model; it then goes by their order.",
        False,
    ),
    forget_rows: bool = o.option(
        "--forget-rows",
        "Leave out of the model the marks by which evaluate knows rows that it was "
        "learned from: 4 bytes for each row, of 16 384 rows at most.",
        False,
    ),
    *,
    choice: o.AnyColumns,
    as_json: bool = o.option("--json", "The scores of --test as JSON lines instead of CSV.", False),
    force: bool = o.FORCE,
    device: str | None = o.DEVICE,
    seed: int = o.SEED,
) -> None:
    """Learn a distance from pairs, labels or both.

    nearkin fit rows.csv --id name --pairs pairs.csv -o model.nearkin
    """
    if pairs is None and labels is None and triplets is None:
        raise UserError(
            "there is nothing to learn from: give --pairs FILE, --triplets FILE or --labels COLUMN."
        )
    if forget_names and choice.one_hot:
        raise UserError("--forget-names: --one-hot needs the names, to know values by them.")
    if is_standard_output(output):
        raise UserError("--output: a model is written to a file; name one.")
    if test is not None and not 0 < test < 1:
        raise UserError(f"--test {test:g}: give a share of the rows between 0 and 1, such as 0.2.")
    if components is not None and any(s.split("=")[0].strip() == "n_components" for s in settings):
        raise UserError("--components: --set n_components says it already.")
    if device is not None and (standardise or test is not None):
        raise UserError("--device: --standardise and --test work on the host; leave one out.")
    outputs.check_target(output, (), force=force)
    scores = None if test is None else outputs.Output(None, as_json=as_json)
    embedded = None
    if embedding is not None:
        suffixes = outputs.TABLES_AND_ARRAYS
        embedded = outputs.Output(embedding, force=force, suffixes=suffixes)
    table = tables.open_table(data, choice, labels=labels)
    if forget_names and table.encoder is not None:
        raise UserError("--forget-names: columns of words are known by their names.")
    marked = models.MarkedRows(
        table.rows if device is None else table.rows.on(streams.Feed(device))
    )
    with read_ahead(marked.rows):
        cls = o.find_learner(learner)
        parameters = o.read_settings(cls, settings, seed)
    y = None if labels is None else table.labels(labels)
    known = pair_files.read_known_answers(table, pairs, choice.delimiter, triplets)
    whole = learn = Part(marked.rows, y, *known)
    held_out = None
    if test is not None:
        learn, held_out = hold_out_rows(whole, test, seed)
        say(describe_hold_out_rows(whole, learn, held_out))
        marked = models.MarkedRows(learn.rows)
    takes_answers = learn.answers is not None and getattr(cls, "_takes_answers", False)
    metric = learn_metric(
        cls,
        parameters,
        marked.rows,
        learn.labels,
        learn.answers if takes_answers else learn.pairs,
        standardise=standardise,
        components=components,
        encoder=table.encoder,
    )
    for name, value in table.remembered.items():
        setattr(metric, name, value)
    facts = storage.Facts(None if forget_rows else marked.marks())
    if held_out is not None:
        tested = held_out.scores(models.Model(output, (metric, facts)), seed)
        facts = replace(facts, tested=tested)
    storage.save(metric, output, forget_names=forget_names, facts=facts)
    _say_what_was_learned(metric, learn, table, labels, output, cls)
    if scores is not None:
        scores.write(tabulate_scores(tested))
    if embedded is not None:
        as_learned = replace(choice, columns=(), exclude=(), one_hot=(), kinds={}, dates=None)
        model = models.Model(output, (metric, facts))
        write_embedding(model, data, embedded, as_learned, device=device)


def _say_what_was_learned(
    metric: Any, learn: Part, table: tables.Table, labels: str | None, output: Path, cls: type
) -> None:
    """Report the choice of a learner, and what it was learned from."""
    report = models.find_report(metric)
    if report is not None:
        if report.columns:
            say(report.columns)
        say(report.reason)
        if report.quality is not None:
            say(f"On held-out pairs, with 90 % intervals: {report.quality.brief}")
        if report.answerers:
            say(answers.format_answerers(report.answerers))
    n_pairs, n_triplets = (_count(kind, learn.pairs) for kind in ("pair", "triplet"))
    knowledge = [counted(n_pairs, "pair")] if n_pairs or not (n_triplets or labels) else []
    knowledge += [counted(n_triplets, "triplet")] if n_triplets else []
    knowledge += [] if labels is None else [f"the labels in {labels!r}"]
    n, d = learn.rows.shape
    d = d if table.encoder is None else len(table.encoder.columns_)
    say(
        f"{cls.__name__} learned from {counted(n, 'row')} of {counted(d, 'column')} and "
        f"{' and '.join(knowledge)}: {output}"
    )


def learn_metric(
    cls: Any,
    settings: dict[str, Any],
    rows: streams.RowStream,
    y: Any,
    pairs: nk.Pairs | nk.Answers | None,
    *,
    standardise: bool,
    components: int | None = None,
    encoder: Any = None,
) -> Any:
    """Fit a learner to rows, by blocks if they are many; returns the metric, or a chain."""
    n, d = rows.shape
    if encoder is not None:
        known = {"groups": encoder.groups_.tolist(), "scale": False}
        usual = {name: one for name, one in known.items() if name in signature(cls).parameters}
        settings = {**usual, **settings}
    landmarks = o.count_landmarks(cls, settings, n)
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
    _refuse_without_memory(learner, rows, by_blocks=by_blocks)
    if by_blocks:
        parallel.start_loading_numba()
    X: Any = rows if by_blocks else rows.to_numpy()
    warns_of_units = getattr(learner, "scale", None) is False
    if is_reduced:
        learner = nk.Blend([learner], n_components=components)
    if not standardise and encoder is None and warns_of_units:
        named = SimpleNamespace(feature_names_in_=rows.names)
        scaling.warn_of_units(named, X, "--standardise gives all columns the same say.")
    with mute_categories(scaling.ScaleWarning), watch_steps(f"learning from {n:,} rows"):
        if standardise:
            metric = _fit_standardised(learner, X, y, pairs)
        else:
            metric = learner.fit(X, y, pairs=pairs)
    if components is not None and metric.n_components_ < components:
        say(
            f"note: the learned distance has {counted(metric.n_components_, 'dimension')}, so "
            f"that rows have {counted(metric.n_components_, 'column')}, not {components}."
        )
    if rows.names is not None:
        metric.feature_names_in_ = np.array(rows.names, dtype=object)
    return metric


def _refuse_without_memory(learner: Any, rows: streams.RowStream, *, by_blocks: bool) -> None:
    """Raise if a fit needs more memory than is free."""
    n, d = rows.shape
    needed = estimates.least_memory(learner, n, d, rows.dtype.itemsize, in_memory=not by_blocks)
    free = estimates.available_memory()
    if needed <= free:
        return
    if estimates.has_many_landmarks(learner, n):
        remedy = "give --set n_landmarks=1000, with which no n × n numbers are held."
    else:
        remedy = "give fewer rows, or --learner kernel-beta, which reads them block by block."
    wanted, there = estimates.format_bytes(needed), estimates.format_bytes(free)
    raise UserError(
        f"{type(learner).__name__} needs {wanted} at least for {n} rows of {d} columns, but "
        f"{there} are free: {remedy}"
    )


def _fit_standardised(learner: Any, X: Any, y: Any, pairs: Any) -> nk.Chain:
    """Chain of a scaler and the learner fitted to scaled rows, in memory or block by block."""
    d, scaler = X.shape[1], scaling.fit_scaler(X)
    by_blocks = isinstance(X, streams.RowStream)
    names = [f"x{j}" for j in range(d)]
    seen = X.mapped(scaler.transform, names) if by_blocks else scaler.transform(X)
    fitted = learner.fit(seen, y, pairs=pairs)
    vars(fitted).pop("feature_names_in_", None)  # names of its own, not the data's
    return nk.Chain([sklearn_base.clone(scaler), sklearn_base.clone(learner)])._made_of(
        [scaler, fitted], d
    )


@dataclass(frozen=True)
class Part:
    """Rows of a file, or some of them, with their labels, pairs and answers."""

    rows: streams.RowStream
    labels: Any
    pairs: nk.Pairs | None
    answers: nk.Answers | None = None

    def restrict(self, rows: Mask) -> Part:
        """The part with some rows only, and the pairs and triplets that lie within them."""
        return Part(
            rows=_take_rows(self.rows, np.flatnonzero(rows)),
            labels=None if self.labels is None else self.labels[rows],
            pairs=None if self.pairs is None else self.pairs.restrict(rows),
            answers=None if self.answers is None else self.answers.restrict(rows),
        )

    def scores(self, model: models.Model, seed: int) -> list[models.Score]:
        """Scores of a model on these rows by all pairs, triplets and labels there are."""
        found: list[models.Score] = []
        if _has_both(self.pairs):
            assert self.pairs is not None
            found += score_by_pairs(model, self.rows, self.pairs, "--pairs")
        if _has_triplets(self.pairs):
            assert self.pairs is not None
            found += score_by_triplets(model, self.rows, self.pairs)
        if can_be_judged(self.labels):
            found += score_by_labels(model, self.rows, self.labels, seed)
        return found


def hold_out_rows(whole: Part, share: float, seed: int) -> tuple[Part, Part]:
    """Split rows at random into a part to learn from and a part to test on.

    Rows that pairs and triplets connect stay together, so that test rows are unknown to the metric.
    Where nearly all are connected that is impossible, and pairs between both parts are not used.
    """
    rng = np.random.RandomState(seed)
    shares = (1 - share, share)
    for _ in range(_MOST_DRAWS):
        pairs = whole.pairs or nk.Pairs()
        fold = folds.assign_row_folds(pairs, len(whole.rows), shares, rng, largest_first=False)
        drawn = fold == 1
        test = whole.restrict(drawn)
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
    learn = whole.restrict(~drawn)
    if len(learn.rows) < 2 or not (learn.labels is not None or learn.pairs):
        raise UserError(f"--test {share:g} leaves nothing to learn from.")
    return learn, test


def describe_hold_out_rows(whole: Part, learn: Part, test: Part) -> str:
    """Numbers of rows, pairs and triplets that are held out, and that are not used, in words."""
    said = f"{len(test.rows)} of {len(whole.rows)} rows are kept apart"
    apart, between = [], []
    for kind in ("pair", "triplet"):
        n, n_learn, n_test = (_count(kind, part.pairs) for part in (whole, learn, test))
        if n:
            apart.append(f"{n_test} of {counted(n, kind)}")
        if n > n_learn + n_test:
            between.append(counted(n - n_learn - n_test, kind))
    said += f", with {' and '.join(apart)}" * bool(apart)
    return said + f"; not used: {' and '.join(between)} between them and the others" * bool(between)


def _has_both(pairs: nk.Pairs | None) -> bool:
    return pairs is not None and min(len(pairs.must_link), len(pairs.cannot_link)) > 0


def _has_triplets(pairs: nk.Pairs | None) -> bool:
    return _count("triplet", pairs) > 0


def _count(kind: str, pairs: nk.Pairs | None) -> int:
    if pairs is None:
        return 0
    return len(pairs.closer) if kind == "triplet" else len(pairs) - len(pairs.closer)


def _take_rows(rows: streams.RowStream, numbers: NDArray[np.int64]) -> streams.RowStream:
    """Stream of the rows of these numbers, which increase."""

    def read(wanted: NDArray[np.int64] | None) -> Iterator[backends.Block]:
        for block in rows.blocks(None if wanted is None else numbers[wanted]):
            first, last = np.searchsorted(numbers, [block.start, block.start + len(block.rows)])
            yield backends.Block(int(first), block.rows[numbers[first:last] - block.start])

    return rows.read_by(read, len(numbers))


@contextmanager
def read_ahead(rows: streams.RowStream) -> Iterator[None]:
    """Read the rows that learners look at first in a thread, while the block imports modules."""
    n, d = rows.shape

    def read() -> None:
        """Take the rows, which remembers them."""
        with suppress(Exception):  # who needs the rows meets it again
            rows.take(backends.evenly_spaced(n, backends.ROWS_FOR_UNITS))

    if not _FEWEST < n * d < _MOST:
        yield
        return
    thread = threading.Thread(target=read, name="nearkin-read-ahead")
    thread.start()
    try:
        yield
    finally:
        thread.join()

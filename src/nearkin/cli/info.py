"""``nearkin info``: what a model is, what it comes from, how good it is and what it is good for."""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import typer

from nearkin.cli import options as o
from nearkin.cli.common import (
    MANNER,
    UserError,
    arrays,
    describe_figures,
    describe_share,
    matchers,
    models,
    storage,
    table_reading,
    verdicts,
)
from nearkin.errors import counted, few

if TYPE_CHECKING:
    from nearkin import RecordMatcher
    from nearkin.storage.models import ModelInfo

_USES = "transform, same, neighbors, duplicates, cluster, evaluate, suggest, plot"
_METHODS = {
    "MetricLearner": "the best of many learners on held-out pairs",
    "Euclidean": "the Euclidean distance",
    "StandardScaler": "all columns at one scale",
    "PCA": "the axes that tell most",
}
# What scores that are told are judged by.
_JUDGES = {"pair_auc": "pair", "triplets_kept": "triplet"}
_MOST_COLUMNS = 12
_WIDTH = 88
_INDENT = 16
# How likely a verdict is to be right where a distance is called clear.
_CLEAR = 0.9


def describe_model(model: Path = o.MODEL, as_json: bool = o.JSON) -> None:
    """Say what a model is, what it comes from, how good it is and what it can be used for.

    --debug shows its parameters and arrays too, and --json all that the file says of itself.
    """
    if not model.exists():
        raise UserError(f"{model}: there is no such file.")
    models.refuse_table(model, str(model))
    if matchers.is_matcher(model):
        matcher = matchers.RecordMatcher.load(model)
        plain = _summarise_matcher(matcher)
        told = _describe_matcher(matcher, str(model))
    else:
        found = storage.describe(model)
        plain = asdict(found)
        told = _describe(found, str(model)) + f"\n\n{found}" * MANNER.debug
    typer.echo(json.dumps(plain, ensure_ascii=False, default=str) if as_json else told)


def _describe(info: ModelInfo, file: str) -> str:
    """Description of a model as text: method, data, quality and uses."""
    said = {
        "model": f"{file}: {_describe_method(info)}",
        "learned from": _count_evidence(info),
        "columns": _describe_columns(info),
        "chosen": str(info.summary.get("report_", "")),
        "answered by": _describe_answerers(info.summary),
        "held out": _describe_held_out(info.summary),
        "tested": _describe_tests(info),
        "how sure": _describe_verdicts(info.summary),
        "gives": f"{counted(info.n_components, 'column')} for a row, between which Euclidean "
        "distances are the learned ones",
        "good for": f"nearkin {_USES}",
        "keeps": _describe_kept_rows(info),
        "file": f"{_format_size(info.size)}, written by nearkin {info.nearkin_version}; --debug "
        "shows what is in it",
    }
    return _lay_out(said)


def _describe_matcher(matcher: RecordMatcher, file: str) -> str:
    """Description of a matcher as text: data, columns, quality and uses."""
    report = matcher.report_
    kinds = (f"{name} ({_describe_kind(matcher, name)})" for name in matcher.kinds_)
    shares = (f"{name} {share:.2f}" for name, share in report.importances.items())
    said = {
        "matcher": f"{file}: which records are the same thing, by RecordMatcher",
        "learned from": f"{counted(report.n_records, 'record')}; {report.n_same} pairs that are "
        f"the same and {report.n_different} that are different",
        "columns": few(kinds, _MOST_COLUMNS),
        "what tells": few(shares, _MOST_COLUMNS),
        "candidates": f"{counted(report.n_candidates, 'pair')}{describe_share(report)}",
        "how sure": f"on the records that it was learned from: {describe_figures(report)}",
        "good for": f"{models.USES}, on records with the same columns",
        "keeps": "no records; how often values were seen, by a hash",
    }
    return _lay_out(said)


def _summarise_matcher(matcher: RecordMatcher) -> dict[str, Any]:
    known: dict[str, Any] = {"kinds": matcher.kinds_}
    for what, readings in (("dates", table_reading.ORDERS), ("decimals", table_reading.DECIMALS)):
        known[what] = {name: one for name, one in matcher.orders_.items() if one in readings}
    return {"matcher": "RecordMatcher", **known, **asdict(matcher.report_)}


def _describe_kind(matcher: RecordMatcher, name: str) -> str:
    """Kind of a column, and how its dates and numbers are read, in words."""
    order = matcher.orders_.get(name)
    said = str(matcher.kinds_[name]) + (f", {order}" if order else "")
    stated = name in (matcher.kinds or {}) or (matcher.dates and order == matcher.dates)
    return said + ", as stated" * bool(stated)


def _lay_out(said: dict[str, str]) -> str:
    """Named texts one below the other, wrapped and indented."""
    wrap = textwrap.TextWrapper(
        width=_WIDTH,
        subsequent_indent=" " * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines = []
    for name, text in said.items():
        if text:
            wrap.initial_indent = name.ljust(_INDENT)
            lines.append(wrap.fill(text))
    return arrays.make_printable("\n".join(lines))


def _describe_method(info: ModelInfo) -> str:
    """The steps of a metric in words."""
    parts = info.parameters.get("steps") or info.parameters.get("learners")
    names = [str(part).removesuffix("(...)") for part in parts] if isinstance(parts, list) else []
    if names[-2:] == ["PCA", "Euclidean"]:  # which only judges
        del names[-1]
    told = [
        f"{name} ({_METHODS[name]})" if name in _METHODS else name
        for name in names or [info.learner]
    ]
    together = " beside " if "learners" in info.parameters else ", then "
    return f"a learned distance, by {together.join(told)}"


def _count_evidence(info: ModelInfo) -> str:
    """Numbers of rows, pairs, triplets and labels that a metric was learned from, in words."""
    told = info.learned_from
    n_columns = info.n_features
    if info.kinds is not None:
        n_columns = sum(kind != "ignored" for kind in info.kinds.values())
    width = counted(n_columns, "column")
    if told is None:
        return f"rows of {width}; how many is not known, since the file is of an older version"
    parts = [f"{counted(told.get('rows', 0), 'row')} of {width}"]
    must, cannot = told.get("must_links", 0), told.get("cannot_links", 0)
    if must or cannot:
        parts.append(f"{must} pairs that are the same and {cannot} that are different")
    if told.get("triplets"):
        parts.append(counted(told["triplets"], "triplet"))
    if told.get("labels"):
        classes = told.get("classes", 0)
        parts.append(f"{counted(told['labels'], 'label')} of {classes} classes")
    return "; ".join(parts)


def _describe_columns(info: ModelInfo) -> str:
    """Names of the columns, with their kinds if there are words among them."""
    names = info.feature_names
    if info.kinds is not None:
        return few((f"{name} ({kind})" for name, kind in info.kinds.items()), _MOST_COLUMNS)
    if names is None:
        return f"{info.n_features} without names: they go by their order"
    return few(names, _MOST_COLUMNS)


def _describe_tests(info: ModelInfo) -> str:
    """Test scores on held-out rows, in words."""
    return "; ".join(
        f"{test.measure} {test.learned:.3f} (Euclidean {test.euclidean:.3f}) by "
        f"{counted(test.pairs, _JUDGES[test.measure])} of {counted(test.rows, 'row')} kept apart"
        for test in info.tested
        if test.measure in _JUDGES
    )


def _describe_held_out(summary: dict[str, Any]) -> str:
    """Scores on held-out pairs, with intervals, in words."""
    return "; ".join(
        f"{name} {one['value']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
        for name, one in summary.get("held_out_", {}).items()
    )


def _describe_answerers(summary: dict[str, Any]) -> str:
    """Who answered, and each person's error rate, in words."""
    return "; ".join(
        f"{one['name']}, {counted(one['answers'], 'answer')}, of which {one['wrong']:.0%} are "
        f"wrong ({one['wrong_low']:.0%} to {one['wrong_high']:.0%})"
        for one in summary.get("answerers_", [])
    )


def _describe_verdicts(summary: dict[str, Any]) -> str:
    """Distances up to which rows are called the same, and beyond which it is clear, in words."""
    names = ("threshold_", "sharpness_", "far_sharpness_", "prevalence_")
    found = {name: value for name in names if isinstance(value := summary.get(name), int | float)}
    if "threshold_" not in found:
        return ""
    judge = verdicts.read_verdicts(SimpleNamespace(**found))
    said = f"rows are called the same up to a distance of {judge.radius:.4g}"
    near, far = judge.sharpness, judge.far_sharpness
    if near is None or far is None:
        return said + "; how sure that is, is not known"
    if min(near, far) <= 0:
        return said + "; its examples do not tell how sure that is"
    needed = math.log(_CLEAR / (1 - _CLEAR))
    same = judge.threshold * (1 - needed / near)
    different = judge.threshold * (1 + needed / far)
    clear = f"{_CLEAR:.0%}".replace("%", " %")
    below = f"the same below {same:.4g} and " if same > 0 else ""
    return (
        f"{said}; with {clear} {below}different above {different:.4g}, by the examples that it was "
        "learned from, if both are equally frequent"
    )


def _describe_kept_rows(info: ModelInfo) -> str:
    """Number of rows of the training data in the file, in words."""
    parts = [shape[0] for shape in info.training_rows.values()]
    n = max(parts, default=0)  # parts may have the same rows
    said = f"{counted(n, 'row')} of the training data{' or more' * (len(parts) > 1)}: whoever has "
    said += "this file can read them"
    if not n:
        said = "no rows of the training data"
    return said + "; marks by which evaluate knows these again" * bool(info.n_marks)


def _format_size(n_bytes: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000  # type: ignore[assignment]
    return f"{n_bytes:.3g} GB"

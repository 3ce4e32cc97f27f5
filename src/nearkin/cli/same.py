"""``nearkin same``: whether two rows are the same thing, how sure that is, and why."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearkin.cli import options as o
from nearkin.cli.common import (
    UserError,
    explain,
    models,
    np,
    outputs,
    pa,
    pair_files,
    quality,
    say,
    tables,
    verdicts,
)
from nearkin.errors import counted

if TYPE_CHECKING:
    from nearkin._types import Floats, Ints, Mask
    from nearkin.learners.explain import Explanation
    from nearkin.pairs.pairs import Pairs
    from nearkin.scores.quality import Quality
    from nearkin.scores.verdicts import Prevalence, Verdicts

# What --prevalence takes in place of a share.
_ESTIMATED = "estimated"


def judge_pairs(
    model: Path = o.MODEL_OR_MATCHER,
    data: Path = o.DATA,
    pairs: Path = o.option(
        "--pairs -p FILE",
        "Pairs to judge: columns left and right. .csv, .tsv, .jsonl (also .gz), .parquet "
        "or .feather; - for standard input.",
        ...,
    ),
    known: Path | None = o.option(
        "--known FILE",
        "Pairs of the same data with answers, best such that the model has not seen: "
        "answers and probabilities then go by them, and suppose that same and different are as "
        "frequent as among them. Without: by the pairs it was learned from, as if both were "
        "equally frequent.",
    ),
    prevalence: str | None = o.PREVALENCE,
    precision: float | None = o.PRECISION,
    why: bool = o.option(
        "--why",
        "Say why, of each pair: which columns and words set it apart. As text; with "
        "--json or --output in a column.",
        False,
    ),
    taught: Path | None = o.option(
        "--taught FILE",
        "The answers that the model was learned from, about this data: --why then says "
        "which of them pull the two together or push them apart.",
    ),
    *,
    out: o.TableOutput,
    choice: o.Columns,
) -> None:
    """Say of each pair how far apart it is, whether it is the same, and how likely that is.

    With --precision a pair is called the same where that is at least as likely. With --known, or of
    a model that held pairs out, it is said what precision and recall are to be expected.

    By a matcher of records there is no distance, and the probability is that of two records that
    look alike at first sight.
    """
    if taught is not None and not why:
        raise UserError("--taught is for --why: it says which answers pull a pair.")
    chance = 0.5 if precision is None else verdicts.check_share(precision, "precision")
    matcher = models.open_matcher(model)
    if matcher is None:
        learned = models.Model(model)
        named: tables.NamedRows = (table := tables.open_table(data, choice, model=learned))
    else:
        o.refuse({"--prevalence": prevalence}, f"{model} knows it from its candidates.")
        o.refuse(
            {"--why": why, "--taught": taught},
            f"{model} is a matcher of records, which has no distance to explain: nearkin fit makes "
            "a model that has.",
        )
        named = records = tables.open_records_of(matcher, data, choice)
    asked = pair_files.read_pairs(named, pairs, needs_answers=False, delimiter=choice.delimiter)
    found: dict[str, Any] = {"left": asked.left, "right": asked.right}
    if choice.id_column is None:
        numbers = named.numbers()[asked.ends]
        found = {"left": numbers[:, 0], "right": numbers[:, 1]}
    if known is not None:
        purpose = "a probability" if matcher is None else "a precision"
        ends, same, weight = pair_files.read_judged_pairs(named, known, choice.delimiter, purpose)
    if matcher is not None:
        compared = tables.columns_as_learned(records, choice, matcher)
        if known is not None:
            chances = matcher.chance_of_pairs(ends, compared)
            by_known = estimate_quality_of_chances(chances, same, weight, ends, chance)
            say_expected(by_known, "known pair", precision)
        likely = matcher.chance_of_pairs(asked.ends, compared)
        out.write(outputs.table_of({**found, "same": likely >= chance, "probability": likely}))
        return
    distance = learned.distances(table.rows, asked.ends)
    judge = learned.verdicts
    if known is not None:
        apart = learned.distances(table.rows, ends)
        judge = verdicts.fit_verdicts_to_answers(apart, same, weight)
    elif judge.sharpness is None:
        raise UserError(
            f"{model} is of an older version, which does not say how sure its verdicts are: fit "
            "again, or give --known PAIRS."
        )
    judge = _set_prevalence(judge, prevalence, distance)
    radius = judge.distance_at(chance)
    held_out = learned.held_out
    if radius < 0:
        say(f"warning: nothing is called the same: at no distance is the chance {chance:g}.")
    elif known is not None:
        by_known = quality.estimate_quality(apart, same, weight, ends, radius, judge.prevalence)
        say_expected(by_known, "known pair", precision)
    elif held_out is not None and (radius, judge.prevalence) == (held_out.radius, 0.5):
        say_expected(held_out, "held-out pair")
    found |= {
        "distance": distance,
        "same": distance <= radius,
        "probability": judge.chance(distance),
    }
    if why:
        told = None if taught is None else _refit(learned, table, taught, choice.delimiter)
        explained = explain_pairs(learned, table, asked.ends, judge, radius, told)
        if out.is_for_people:
            names = table.shown_ids().to_pylist()
            shown = zip(explained, found["left"], found["right"], strict=True)
            texts = [f"{a} and {b}\n{one.text(names)}\n" for one, a, b in shown]
            out.write_text("\n".join(texts))
            return
        found["why"] = [one.brief for one in explained]
    out.write(outputs.table_of(found))


def _set_prevalence(judge: Verdicts, said: str | None, distances: Floats) -> Verdicts:
    """Verdicts at the prevalence given as option, or estimated from distances."""
    prevalence = read_prevalence(said)
    if prevalence is None:
        return judge
    if prevalence == _ESTIMATED:
        share = verdicts.estimate_prevalence(judge, distances)
        say(f"estimated prevalence: {share:.3g} of these pairs are the same")
        return replace(judge, prevalence=share)
    return replace(judge, prevalence=verdicts.check_share(prevalence, "prevalence"))


def read_prevalence(said: str | None) -> Prevalence:
    """Value of --prevalence: a share, "estimated" or None."""
    if said is None or said == _ESTIMATED:
        return said  # type: ignore[return-value]
    try:
        return float(said)
    except ValueError:
        raise UserError(
            f"--prevalence {said}: give the share of pairs that are the same, such as 0.1, or "
            f"{_ESTIMATED}."
        ) from None


def read_share(said: str | None) -> float | None:
    """Value of --prevalence where it cannot be estimated: a share or None."""
    prevalence = read_prevalence(said)
    if prevalence == _ESTIMATED:
        raise UserError(f"--prevalence {_ESTIMATED}: this goes by distances; give a share.")
    return None if prevalence is None else verdicts.check_share(prevalence, "prevalence")


def say_expected(found: Quality, by: str, wanted: float | None = None) -> None:
    """Report precision and recall to expect, and warn if the wanted precision is not certain."""
    n_pairs = found.n_same + found.n_different
    say(
        f"expected: precision {found.precision}, recall {found.recall}, by "
        f"{counted(n_pairs, by)} (90 % intervals, where a share of {found.prevalence:.2g} of all "
        "pairs are the same)"
    )
    if wanted is None or not found.recall.value or found.precision.low >= wanted:
        return
    needed = quality.count_pairs_to_promise(wanted, found.prevalence, max(found.recall.value, 0.05))
    more = f"that takes about {needed} known pairs that are different, none of them called the same"
    if needed <= found.n_different:
        more = "of those that are different, too many are called the same for it"
    say(f"warning: these pairs do not show that {wanted:g} is reached: {more}.")


def estimate_quality_of_chances(
    chance: Floats,
    same: Mask,
    weight: Floats,
    ends: Ints,
    level: float = 0.5,
    prevalence: float | None = None,
) -> Quality:
    """Precision and recall, from known pairs, of calling pairs the same from a probability on."""
    share = float(weight[same].sum() / weight.sum()) if prevalence is None else prevalence
    return quality.estimate_quality(1 - chance, same, weight, ends, 1 - level, share)


def _refit(
    model: models.Model, table: tables.Table, taught: Path, delimiter: str | None
) -> tuple[Any, Floats, Pairs]:
    """The metric learned anew from a file of its answers, the rows, and the pairs."""
    file = pair_files.read_pairs(table, taught, delimiter=delimiter, role="--taught")
    pairs = file.pairs(table.n_rows)
    if not len(pairs):
        raise UserError(f"{taught} has no answers: --taught takes those that were learned.")
    X = table.rows.take(np.arange(table.n_rows))
    return model.metric._refit(X, pairs), X, pairs


def explain_pairs(
    model: models.Model,
    table: tables.Table,
    ends: Ints,
    judge: Verdicts,
    radius: float,
    told: tuple[Any, Floats, Pairs] | None,
) -> list[Explanation]:
    """Explain the distances between pairs (k, 2) of a table's rows.

    Rows up to ``radius`` apart are called the same. ``told`` is a metric that is learned anew, its
    rows and pairs: they say which answers pull the rows of a pair.
    """
    encoder, metric = model.table, copy(model.metric)
    groups = model.names if encoder is None else encoder.groups_
    if groups is not None:
        metric._names_of_columns = list(groups)
    explained = []
    for pair in ends:
        numbers, places = np.unique(pair, return_inverse=True)
        rows = [row[None] for row in table.rows.take(numbers)[places]]
        found: Explanation = metric.explain(*rows)
        chance = float(judge.chance(np.array(found.distance)))
        found = replace(found, chance=chance, threshold=radius)
        if told is None:
            found = replace(found, remark="Which answers pull them: --taught ANSWERS says it.")
        elif found.distance:
            learned, X, pairs = told
            answers, remark = explain.find_strongest_pulls(
                learned, rows, found.distance**2, X, pairs
            )
            found = replace(found, answers=answers, remark=remark)
        if encoder is not None:  # the cells of both rows, and the effects of their words
            cells = pa.Table.from_batches(list(table.batches_of(numbers, encoder.columns_)))
            texts = [cells.slice(int(place), 1) for place in places]
            left, right = map(encoder.cells, texts)
            values = {name: (left[name], right[name]) for name in left}
            words = explain.word_effects(encoder, metric.map_, *texts) if found.distance else {}
            found = replace(found, values=values, words=words)
        explained.append(found)
    return explained

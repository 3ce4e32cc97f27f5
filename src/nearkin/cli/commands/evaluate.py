"""``nearkin evaluate``: how good a model is."""

from __future__ import annotations

from nearkin.cli import options as o


def evaluate(
    model: o.ModelOrMatcher,
    data: o.Data,
    pairs: o.PairsPath = None,
    triplets: o.TripletsPath = None,
    labels: o.Labels = None,
    prevalence: o.Prevalence = None,
    output: o.OutputPath = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    seed: o.Seed = 0,
) -> None:
    """Compare the learned distance with the Euclidean one, by pairs or labels that are new to it.

    pair_auc: how often the same are closer than the different. precision, recall and f1: of
    calling two rows the same, at the prevalence. low and high: in nine cases of ten the true figure
    lies between them. triplets_kept: how many of the
    triplets are in order, as a share. With labels also separability (J,
    the mean distance between classes over that within them) and balanced_rand (of k-means). If
    the model standardises, so does the Euclidean distance. Of more than 5000 labelled rows, 5000
    are drawn. Beside each score: how many pairs and rows it is of, and how many of these the model
    was learned from (seen); where there are any, the figures are too good, and a warning says so.

    A matcher of records is judged by what it says of --pairs, one by one, and by the pairs within
    its groups where --labels say what each record is of. It does not know which records it was
    learned from: judge by others.
    """
    from nearkin.cli.common import UserError, say
    from nearkin.cli.files.output import Output
    from nearkin.cli.files.tables import columns_as_learned, open_table
    from nearkin.cli.judging import (
        Score,
        answered,
        lines_table,
        note_seen,
        quality_by,
        score_table,
        scores_by_labels,
        scores_by_pairs,
        scores_by_triplets,
        stated_prevalence,
        stated_share,
    )
    from nearkin.cli.learning import known_pairs
    from nearkin.cli.matching import matcher_in, records_for, refuse_options, scores_by_known
    from nearkin.cli.matching import scores_by_labels as scores_of_groups
    from nearkin.cli.models import Model

    if pairs is None and labels is None and triplets is None:
        raise UserError(
            "there is nothing to judge by: give --pairs FILE, --triplets FILE or --labels COLUMN."
        )
    out = Output(output, as_json=as_json, force=force, quote=quote)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing)
    matcher = matcher_in(model)
    if matcher is not None:
        refuse_options({"--triplets": triplets}, "a matcher knows same and different only.")
        records = records_for(matcher, data, choice)
        compared = columns_as_learned(records, choice, matcher)
        if labels in records.compared:
            raise UserError(f"--labels {labels}: {model} compares this column.")
        lines = []
        if pairs is not None:
            told = answered(records, pairs, choice.delimiter, "a precision", role="--pairs")
            frequent = stated_share(prevalence)
            lines += scores_by_known(matcher, compared, told, frequent)
        if labels is not None:
            groups = matcher.duplicates(compared).labels
            lines += scores_of_groups(groups, records.labels(labels))
        out.write(lines_table(lines))
        return
    learned = Model(model)
    table = open_table(data, choice, labels=labels, model=learned)
    if labels in table.columns:
        raise UserError(
            f"--labels {labels}: {model} was learned from this column, so that scores by it say "
            "nothing."
        )
    found: list[Score] = []
    share, qualities = stated_prevalence(prevalence), {}
    known = known_pairs(table, pairs, choice.delimiter, triplets)
    if known is not None and pairs is not None:
        found += scores_by_pairs(learned, table.rows, known, str(pairs))
        qualities["pairs"] = quality_by(learned, table.rows, share, seed, pairs=known)
    if known is not None and triplets is not None:
        found += scores_by_triplets(learned, table.rows, known)
    if labels is not None:
        y = table.labels(labels)
        found += scores_by_labels(learned, table.rows, y, seed)
        qualities["labels"] = quality_by(learned, table.rows, share, seed, y=y)
    note_seen(found, str(model))
    for by, quality in qualities.items():
        say(f"{by}: {quality.terms}")
    out.write(score_table(found, qualities))

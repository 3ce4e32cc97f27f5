"""Packages that find duplicates, run in an environment of their own.

``python peers.py NAME told.json found.json`` imports nothing of this project. The environment
variable ``NEARKIN_RECORD_PEERS`` names the interpreter: one with dedupe 3 (and BTrees 6.1, since it
fails with 6.5), splink 5, recordlinkage 0.16 and scikit-learn. ``told.json`` has the columns
(texts, null where missing), how many records there are, and answered pairs. What is found are the
pairs of records that are the same.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from itertools import combinations
from typing import Any

Pairs = list[list[int]]
NAMES = (
    "dedupe",
    "splink",
    "splink, labels",
    "recordlinkage, logistic",
    "recordlinkage, Bayes",
    "recordlinkage, ECM",
)


def by_dedupe(told: dict[str, Any]) -> Pairs:
    import dedupe

    columns, n = told["columns"], told["n"]
    records = {i: {name: columns[name][i] for name in columns} for i in range(n)}
    variables = [dedupe.variables.String(name, has_missing=True) for name in columns]
    deduper = dedupe.Dedupe(variables, num_cores=1, in_memory=True)
    deduper.prepare_training(records, sample_size=1500)
    answered: dict[str, list[Any]] = {"match": [], "distinct": []}
    for i, j, same in told["answers"]:
        answered["match" if same else "distinct"].append((records[i], records[j]))
    deduper.mark_pairs(answered)
    deduper.train()
    groups = (members for members, _ in deduper.partition(records, 0.5))
    return [[int(i), int(j)] for group in groups for i, j in combinations(group, 2)]


def by_splink(told: dict[str, Any], *, labels: bool) -> Pairs:
    import pandas as pd
    import splink.comparison_library as cl
    from splink import Linker, SettingsCreator, block_on
    from splink.backends.duckdb import DuckDBAPI

    columns, n = told["columns"], told["n"]
    frame = pd.DataFrame({"unique_id": range(n), **columns})
    usable = [name for name in columns if frame[name].nunique() > 1]
    keys = sorted(usable, key=lambda name: -frame[name].nunique())[:4]
    rules = [block_on(name) for name in keys]
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[cl.JaroWinklerAtThresholds(name, [0.92, 0.8]) for name in usable],
        blocking_rules_to_generate_predictions=rules,
    )
    api = DuckDBAPI()
    linker = Linker(api.register(frame), settings)
    linker.training.estimate_probability_two_random_records_match(rules, recall=0.8)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=1)
    if labels:
        said = pd.DataFrame(
            [
                {"unique_id_l": i, "unique_id_r": j, "clerical_match_score": float(same)}
                for i, j, same in told["answers"]
                if same
            ]
        )
        registered = linker.table_management.register_labels_table(api.register(said))
        linker.training.estimate_m_from_pairwise_labels(registered)
    elif len(usable) < 2:
        raise SystemExit("EM needs a second column to block on")
    else:
        for rule in rules[:2]:
            linker.training.estimate_parameters_using_expectation_maximisation(rule)
    found = linker.inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()
    return found[["unique_id_l", "unique_id_r"]].to_numpy().tolist()


def by_recordlinkage(told: dict[str, Any], classifier: str) -> Pairs:
    import pandas as pd
    import recordlinkage as rl

    columns = told["columns"]
    frame = pd.DataFrame(columns).fillna("")
    keys = sorted(columns, key=lambda name: -frame[name].nunique())[:4]
    indexer = rl.Index()
    for name in keys:
        indexer.add(rl.index.SortedNeighbourhood(name, window=5))
    links = indexer.index(frame)
    said = {(max(i, j), min(i, j)): same for i, j, same in told["answers"]}
    comparison = rl.Compare()
    for name in columns:
        comparison.string(name, name, method="jarowinkler", label=name)
    features = comparison.compute(links, frame)
    if classifier == "ECM":
        found = rl.ECMClassifier(binarize=0.85).fit_predict(features)
    else:
        model: Any = (
            rl.LogisticRegressionClassifier()
            if classifier == "logistic"
            else rl.NaiveBayesClassifier(binarize=0.85)
        )
        right = pd.MultiIndex.from_tuples([pair for pair, same in said.items() if same])
        model.fit(comparison.compute(pd.MultiIndex.from_tuples(list(said)), frame), right)
        found = model.predict(features)
    return found.to_frame().to_numpy().tolist()


def same_things(name: str, told: dict[str, Any]) -> Pairs:
    """Pairs of records that are said to be the same."""
    if name == "dedupe":
        return by_dedupe(told)
    if name.startswith("splink"):
        return by_splink(told, labels=name.endswith("labels"))
    return by_recordlinkage(told, name.partition(", ")[2])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    _, chosen, given, said_to = sys.argv
    with open(given) as file:
        problem = json.load(file)
    with open(said_to, "w") as file:
        json.dump(same_things(chosen, problem), file)

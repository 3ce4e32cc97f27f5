"""Modules that commands import when they work, so that their help is there at once.

A module of commands has the signature and the work of each. What is quick it imports at its head;
all else, such as NumPy, it has from here. The type checker sees plain imports.
"""

# Commands import from here what is imported here.
# mypy: implicit-reexport

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.cli.common import import_late

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyarrow import compute as pc
    from rich import console, text
    from rich import table as grids
    from sklearn import base as sklearn_base
    from sklearn import cluster as sklearn_cluster
    from sklearn import decomposition, frozen, preprocessing

    from nearkin import estimates
    from nearkin.cli import models
    from nearkin.cli.files import output as outputs
    from nearkin.cli.files import pairs as pair_files
    from nearkin.cli.files import tables
    from nearkin.clustering import constraints
    from nearkin.learners import explain
    from nearkin.pairs import answers
    from nearkin.pairs import labels as classes_of
    from nearkin.questions import strategies
    from nearkin.records import matcher as matchers
    from nearkin.rows import backends, parallel, parquet, scaling, streams, validation
    from nearkin.scores import held_out as folds
    from nearkin.scores import quality, verdicts
    from nearkin.spaces import feature_space as spaces
    from nearkin.spaces import linalg, neighbors
    from nearkin.storage import arrays
    from nearkin.storage import models as storage
    from nearkin.studio import journal as journals
    from nearkin.studio import lesson as lessons
    from nearkin.studio import notebook, pictures
    from nearkin.studio import records as shown_records
    from nearkin.studio.server import encoding, security, serving
    from nearkin.tables import choice as column_choice
    from nearkin.tables import encoder
    from nearkin.tables import reading as table_reading
else:
    np, pa, pc = import_late("numpy pyarrow pyarrow.compute")
    console, text, grids = import_late("console text table", "rich")
    sklearn_base, sklearn_cluster, decomposition, frozen, preprocessing = import_late(
        "base cluster decomposition frozen preprocessing", "sklearn"
    )
    models, outputs, pair_files, tables = import_late(
        "models files.output files.pairs files.tables", "nearkin.cli"
    )
    estimates, constraints, explain, answers, classes_of, strategies, matchers = import_late(
        "estimates clustering.constraints learners.explain pairs.answers pairs.labels "
        "questions.strategies records.matcher",
        "nearkin",
    )
    backends, parallel, parquet, scaling, streams, validation = import_late(
        "backends parallel parquet scaling streams validation", "nearkin.rows"
    )
    folds, quality, verdicts = import_late("held_out quality verdicts", "nearkin.scores")
    spaces, linalg, neighbors = import_late("feature_space linalg neighbors", "nearkin.spaces")
    arrays, storage = import_late("arrays models", "nearkin.storage")
    journals, lessons, notebook, pictures, shown_records, encoding, security, serving = import_late(
        "journal lesson notebook pictures records server.encoding server.security server.serving",
        "nearkin.studio",
    )
    column_choice, encoder, table_reading = import_late("choice encoder reading", "nearkin.tables")

"""Cluster the rows of a Parquet file the way a CSV file of pairs says.

``flowers.parquet`` has a row for each flower: its name and four measurements. ``pairs.csv`` has
what somebody said who looked at some of them two by two: the two names, and whether they are of one
species; an empty answer is "not sure". How many clusters there are is found out, and they are
written to ``clusters.parquet``. Run it to get these files and ``clusters.png``.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from nearkin import Clusters, Pairs, plot

mpl.use("Agg")
import matplotlib.pyplot as plt

N_PAIRS = 80


def prepare() -> np.ndarray:
    """Write the two files that there would be otherwise, and give the true species to compare."""
    iris = load_iris()
    names = [f"flower-{i:03}" for i in range(len(iris.data))]
    columns = dict(zip(iris.feature_names, iris.data.T, strict=True))
    pq.write_table(pa.table({"name": names, **columns}), "flowers.parquet")
    told = Pairs.from_labels(iris.target, N_PAIRS, random_state=0)
    answers = told.to_frame(ids=names, backend="pyarrow").select(["left", "right", "same"])
    unsure = pa.table(
        {"left": ["flower-001"], "right": ["flower-140"], "same": [None]}, schema=answers.schema
    )
    pyarrow.csv.write_csv(pa.concat_tables([answers, unsure]), "pairs.csv")
    return iris.target


def main() -> None:
    """From two files to a third."""
    species = prepare()

    flowers = pq.read_table("flowers.parquet")
    names = flowers["name"].to_pylist()
    measured = flowers.drop_columns(["name"])
    X = np.column_stack([column.to_numpy() for column in measured.columns])
    pairs = Pairs.from_frame(pyarrow.csv.read_csv("pairs.csv"), ids=names)
    print(f"{len(X)} flowers, {len(pairs.must_link)} pairs of one species and", end=" ")
    print(f"{len(pairs.cannot_link)} of different species")

    found = Clusters(random_state=0).fit(X, pairs=pairs)
    clusters = found.labels_
    pq.write_table(pa.table({"name": names, "cluster": clusters}), "clusters.parquet")
    print(found.report_)
    print("examples:", ", ".join(names[row] for row in found.medoids_))

    without = KMeans(found.n_clusters_, n_init=10, random_state=0).fit_predict(X)
    print(f"agreement with the true species (adjusted Rand index): {score(species, clusters)}")
    print(f"k-means without the pairs: {score(species, without)}")
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    plot.embedding(X, without, ax=axes[0], title=f"as measured: {score(species, without)}")
    Z = found.metric_.transform(X)
    plot.embedding(
        Z, clusters, pairs=pairs, ax=axes[1], title=f"learned: {score(species, clusters)}"
    )
    plot.grouping(found, ax=axes[2])
    figure.savefig("clusters.png", dpi=90)
    print("picture:", Path("clusters.png").resolve())


def score(species: np.ndarray, clusters: np.ndarray) -> str:
    """1 where clusters are species, about 0 for clusters at random."""
    return f"{adjusted_rand_score(species, clusters):.2f}"


if __name__ == "__main__":
    main()

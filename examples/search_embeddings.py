"""Search a collection of embeddings by what you mean, not by what the model saw first.

Embeddings of documents say what they are about, but also how long they are, who wrote them and in
which tone, and the nearest to a question are often those that merely sound like it. Pairs of
documents on one subject show which differences to forget. An index searches by the learned
distance, takes in more documents later and is kept in a file. The embeddings here are made up, so
that the program needs no model: a part for the subject, a stronger one for the manner, and noise.
Run it to get ``documents.index``, ``documents.nearkin`` and ``search.png``.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import nearkin
from nearkin import RCA, NeighborIndex, Pairs

mpl.use("Agg")
import matplotlib.pyplot as plt

N_COLUMNS, N_SUBJECTS, N_MANNERS = 64, 20, 6
N_PAIRS = (25, 50, 100, 200, 400, 800)


def embedded(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of n documents, and the subject of each."""
    model = np.random.default_rng(0)  # the same for all documents
    subjects = model.normal(size=(N_SUBJECTS, N_COLUMNS))
    manners = model.normal(size=(N_MANNERS, N_COLUMNS))
    rng = np.random.default_rng(seed)
    subject = rng.integers(N_SUBJECTS, size=n)
    X = subjects[subject] + rng.normal(size=(n, N_MANNERS)) @ manners
    X += rng.normal(size=X.shape)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), subject


def hits(index: NeighborIndex, subject: np.ndarray, X: np.ndarray, asked: np.ndarray) -> float:
    """Share of the ten documents found that are on the subject asked for."""
    _, found = index.query(X, 10)
    return float(np.mean(subject[found] == asked[:, None]))


def main() -> None:
    """Learn from more and more pairs, search, and keep the index."""
    X, subject = embedded(3000, seed=1)
    questions, asked = embedded(300, seed=2)
    before = hits(NeighborIndex().add(X), subject, questions, asked)
    print(f"on the subject, of ten documents found: {before:.0%} by the embeddings as they are")
    shares = []
    for n_pairs in N_PAIRS:
        pairs = Pairs.from_labels(subject, n_pairs, kind="must", random_state=0)
        metric = RCA(random_state=0).fit(X, pairs=pairs)
        index = NeighborIndex(metric).add(X)
        shares.append(hits(index, subject, questions, asked))
        print(f"  {shares[-1]:.0%} with {n_pairs} pairs")

    more, subject_of_more = embedded(500, seed=3)
    index.add(more)  # the metric need not learn again
    metric.save("documents.nearkin")
    index.save("documents.index")
    index = NeighborIndex.load("documents.index", metric=nearkin.load("documents.nearkin"))
    everything = np.concatenate([subject, subject_of_more])
    print(f"{len(index)} documents from the file: {hits(index, everything, questions, asked):.0%}")

    figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    ax.semilogx(N_PAIRS, shares, "o-", label="learned distance")
    ax.axhline(before, color="0.5", linestyle="--", label="embeddings as they are")
    ax.set_xticks(N_PAIRS, [str(n) for n in N_PAIRS])
    ax.minorticks_off()
    ax.set_xlabel("pairs of documents on one subject")
    ax.set_ylabel("of ten found, on the subject")
    ax.legend()
    figure.savefig("search.png", dpi=90)
    print("picture:", Path("search.png").resolve())


if __name__ == "__main__":
    main()

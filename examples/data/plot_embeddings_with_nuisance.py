"""
Embeddings: forget the manner, keep the subject
===============================================

Embeddings of documents say what they are about, but also how long they are, who wrote them and in
which tone. How many pairs does it take to forget that?

The embeddings here are made up, so that the program needs no model: a part for the subject, a
stronger one for the manner, and noise.
"""

import numpy as np

import nearkin as nk

N_COLUMNS, N_SUBJECTS, N_MANNERS = 64, 20, 6
model = np.random.default_rng(0)
SUBJECTS = model.normal(size=(N_SUBJECTS, N_COLUMNS))
MANNERS = model.normal(size=(N_MANNERS, N_COLUMNS))


def embedded(n, seed):
    """Unit vectors of n documents, and the subject of each."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(N_SUBJECTS, size=n)
    X = SUBJECTS[subject] + 1.5 * rng.normal(size=(n, N_MANNERS)) @ MANNERS
    X += rng.normal(size=X.shape)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), subject


X, subject = embedded(2000, seed=1)
questions, asked = embedded(300, seed=2)

# %%
# Ten documents are looked up for each question. How many of them are on its subject?


def hits(metric=None):
    """Share of the documents found that are on the subject asked for."""
    _, found = nk.NeighborIndex(metric).add(X).query(questions, 10)
    return np.mean(subject[found] == asked[:, None])


N_PAIRS = [25, 50, 100, 200, 400, 800]
learned = []
for n_pairs in N_PAIRS:
    pairs = nk.Pairs.from_labels(subject, n_pairs, kind="must", random_state=0)
    metric = nk.RCA(random_state=0).fit(X, pairs=pairs)
    learned.append(hits(metric))

# %%

ax = nk.plot.course(
    N_PAIRS,
    {"learned from pairs on one subject": learned, "embeddings as they are": hits()},
    y="of ten found, on the subject",
    log=True,
)

# %%
# New documents of five subjects, before and after:

# sphinx_gallery_thumbnail_number = 2
some = asked < 5
spaces = {"embeddings": questions[some], "learned": metric.transform(questions[some])}
axes = nk.plot.side_by_side(spaces, asked[some], size=24)

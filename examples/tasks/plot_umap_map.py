"""
UMAP after nearkin
==================

Supervised UMAP draws what labels say, and tears apart what they do not mention. Does it help to
learn a distance first?

Since a learned metric is an embedding, UMAP takes it as it is: transform, then draw. The data are
embeddings of documents with strong directions that mean nothing.
"""

import numpy as np
import umap

import nearkin as nk

model = np.random.default_rng(0)
SUBJECTS, MANNERS = model.normal(size=(8, 40)), model.normal(size=(5, 40))
subject = model.integers(8, size=400)
X = SUBJECTS[subject] + 1.7 * model.normal(size=(400, 5)) @ MANNERS
X += model.normal(scale=0.8, size=X.shape)

# %%
# A hundred pairs of documents, drawn from the first 250:

pairs = nk.Pairs.from_labels(subject[:250], 100, random_state=0)
metric = nk.RCA(random_state=0).fit(X[:250], pairs=pairs)

# %%
# UMAP of the embeddings, and of the learned rows:


def drawn(rows):
    """Places on UMAP's map."""
    return umap.UMAP(n_neighbors=15, n_epochs=150, random_state=0, n_jobs=1).fit_transform(rows)


spaces = {"UMAP of embeddings": drawn(X), "UMAP of learned rows": drawn(metric.transform(X))}
axes = nk.plot.side_by_side(spaces, subject, size=24)

"""
A map of what was learned
=========================

Maps of neighbours show what distances say. What if distances are learned first?

t-SNE takes any rows. It is given the pixels of digits here, and then what a metric makes of them.
The pairs speak of even and odd, which no map of pixels could guess.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE

import nearkin as nk

X, digit = load_digits(return_X_y=True)
X, digit = X[:700], digit[:700]
parity = digit % 2
pairs = nk.Pairs.from_labels(parity[:400], 120, random_state=0)
metric = nk.CosineMetric(kernel="rbf", random_state=0).fit(X[:400], pairs=pairs)

# %%
# Both maps in the colours of digits, with crosses where they are odd. The last 300 pictures are in
# no pair.


def drawn(rows):
    """Places on a map of neighbours."""
    return TSNE(random_state=0, init="pca", max_iter=400, perplexity=30).fit_transform(rows)


figure, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
for ax, rows, title in ((axes[0], X, "pixels"), (axes[1], metric.transform(X), "learned")):
    places = drawn(rows)
    for odd, marker in ((0, "o"), (1, "x")):
        some = parity == odd
        colours = ax.scatter(
            *places[some].T, c=digit[some], cmap="tab10", vmin=-0.5, vmax=9.5, s=18, marker=marker
        )
    auc = nk.scores.pair_auc(rows[400:], parity[400:])
    ax.set(title=f"{title}: even or odd, pair AUC {auc:.2f}", xticks=[], yticks=[])
figure.colorbar(colours, ticks=range(10), label="digit; crosses are odd")

"""GeometryAware on two moons: the graph, a function that is smooth on it, and the metric."""

from _shared import GREY, panels, show
from matplotlib.collections import LineCollection
from sklearn.datasets import make_moons

import nearkin as nk
from nearkin.spaces.graph import neighbor_graph

X, y = make_moons(300, noise=0.06, random_state=0)
pairs = nk.Pairs.from_labels(y, 10, random_state=0)
metric = nk.GeometryAware(random_state=0).fit(X, pairs=pairs)

axes = panels(3)
edges = neighbor_graph(X, 10).tocoo()
lines = LineCollection(X[list(zip(edges.row, edges.col, strict=True))], colors=GREY, lw=0.4)
axes[0].add_collection(lines)
show(axes[0], X, y, f"graph and 10 pairs: {nk.scores.pair_auc(X, y):.2f}", pairs)
smooth = metric.transform(X)[:, 0]
axes[1].scatter(*X.T, c=smooth, cmap="cividis", s=12)
axes[1].set(xticks=[], yticks=[])
axes[1].set_title("the first learned coordinate", fontsize=10)
show(axes[2], metric.transform(X), y, f"after GeometryAware: {metric.score(X, y):.2f}")

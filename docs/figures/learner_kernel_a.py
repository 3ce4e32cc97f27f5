"""KernelA on XOR: points that must-links draw together, and their neighbours with them."""

from _shared import BLUE, panels, show

import nearkin as nk

X, y = nk.datasets.make_xor(300, random_state=0)
pairs = nk.Pairs.from_labels(y, 10, kind="must", random_state=0)
metric = nk.KernelA(random_state=0).fit(X, pairs=pairs)
to_rest = nk.KernelA(n_iter=20, random_state=0).fit(X, pairs=pairs)

axes = panels(3)
show(axes[0], X, y, "10 must-links", pairs)
show(axes[1], metric.transform(X), y, "after two steps")
axes[2].plot(to_rest.objective_ / to_rest.objective_[0], "o-", color=BLUE, ms=3)
axes[2].set(xlabel="step", yscale="log")
axes[2].set_title("objective, as a share of the first", fontsize=10)

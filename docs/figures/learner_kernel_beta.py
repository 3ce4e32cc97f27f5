"""KernelBeta on XOR: the pairs, the weights of directions before and after, the new places."""

from _shared import panels, show

import nearkin as nk

X, y = nk.datasets.make_xor(300, random_state=0)
pairs = nk.Pairs.from_labels(y, 20, kind="must", random_state=0)
metric = nk.KernelBeta(random_state=0).fit(X, pairs=pairs)

axes = panels(3)
show(axes[0], X, y, "opposite corners are alike: 20 must-links", pairs)
nk.plot.spectrum(metric, ax=axes[1], title="weights of the kernel's directions")
axes[1].title.set_fontsize(10)
show(axes[2], metric.transform(X), y, "after KernelBeta")

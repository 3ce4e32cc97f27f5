"""MultipleKernelClassifier: which of fifteen widths it takes, and the regions that follow."""

import numpy as np
from _shared import BLUE, panels, regions

import nearkin as nk

X, y = nk.datasets.make_xor(120, noise=0.35, random_state=0)
model = nk.MultipleKernelClassifier(random_state=0).fit(X, y)
axes = panels(2, 4.2, 3.2)
width = np.log2(model.bandwidths)
axes[0].bar(width, model.weights_, color=BLUE)
axes[0].set(xlabel="bandwidth (power of two)", ylabel="share in the combination")
axes[0].set_title(
    f"{np.count_nonzero(model.weights_)} of {len(width)} kernels are used", fontsize=10
)
regions(axes[1], model, X, y, "what the machine says")

"""Which pixels set a three and an eight apart."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import nearkin as nk

images, digit = load_digits(return_X_y=True)
some = np.isin(digit, (3, 8))
images, digit = images[some], digit[some]
pairs = nk.Pairs.from_labels(digit, n_pairs=60, random_state=0)
metric = nk.ITML(random_state=0).fit(images, pairs=pairs)
three, eight = np.flatnonzero(digit == 3)[4], np.flatnonzero(digit == 8)[4]

figure, (left, right, parts) = plt.subplots(1, 3, figsize=(8, 2.7), layout="constrained")
for ax, row in ((left, three), (right, eight)):
    ax.imshow(images[row].reshape(8, 8), cmap="gray_r")
    ax.set(title=f"a {digit[row]}", xticks=[], yticks=[])
nk.plot.explanation(
    metric.explain(images[three], images[eight]),
    shape=(8, 8),
    ax=parts,
    title="part of the distance",
)

"""What columns of a table count for, before and after a few pairs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import nearkin as nk

table, person = nk.datasets.make_records(300, random_state=0)
people = pd.DataFrame(table).drop(columns=["born", "postcode"])
rng = np.random.default_rng(0)
people["last visit"] = rng.normal(size=len(people))  # which says nothing of who it is
people["paid by"] = rng.choice(["card", "cash", "bill"], len(people))
pairs = nk.Pairs.from_labels(person, n_pairs=40, random_state=0)
metric = nk.ColumnWeights(random_state=0).fit(people, pairs=pairs)
weights = metric.group_weights_
middle = np.mean(list(weights.values()))

figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True, sharex=True)
names = sorted(weights, key=weights.get)
for ax, values, title in (
    (axes[0], [1.0] * len(names), "before any pair"),
    (axes[1], [weights[name] / middle for name in names], f"after {len(pairs)} pairs"),
):
    ax.barh(names, values)
    ax.set(title=title, xlabel="weight, beside the mean")

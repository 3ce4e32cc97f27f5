"""What columns of a table count for, before and after a few pairs."""

import matplotlib.pyplot as plt
import pandas as pd

import nearkin as nk

table, person = nk.datasets.make_records(300, random_state=0)
people = pd.DataFrame(table).drop(columns="born")  # in which there are typos
pairs = nk.Pairs.from_labels(person, n_pairs=40, random_state=0)
metric = nk.ColumnWeights(random_state=0).fit(people, pairs=pairs)
weights = metric.group_weights_

figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True, layout="constrained")
names = sorted(weights, key=weights.get)
for ax, values, title in (
    (axes[0], [1.0] * len(names), "before any pair"),
    (axes[1], [weights[name] for name in names], f"after {len(pairs)} pairs"),
):
    ax.barh(names, values, color="#0072b2")
    ax.set(title=title, xlabel="weight of the column")

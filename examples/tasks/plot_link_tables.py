"""
Two tables, the same people
===========================

Two offices keep lists of people. Who is who?

:func:`nearkin.link` finds which record of one table is which of the other, misspelt and incomplete
as they are. A few answers make it surer.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import nearkin as nk

table, person = nk.datasets.make_records(
    800, duplicates=0.5, most_copies=1, mistakes=6, missing=0.1, random_state=0
)
table = pd.DataFrame(table)

# %%
# The first records of all persons are one office's list, and second ones the other's.

first = ~pd.Series(person).duplicated().to_numpy()
left, right = table[first].reset_index(drop=True), table[~first].reset_index(drop=True)
row_of = {who: row for row, who in enumerate(person[first])}
truth = {(row_of[who], row) for row, who in enumerate(person[~first])}
print(f"{len(left)} and {len(right)} records; {len(truth)} are in both")
links = nk.link(left, right, kinds={"born": "name"}, random_state=0)
print(links)

# %%
# One that was found:

a, b = links.pairs[np.argmin(links.chance)]
pd.concat([left.iloc[[a]], right.iloc[[b]]])

# %%
# How many links are right when only the surer ones are taken:

order = np.argsort(-links.chance)
right_so_far = np.cumsum([tuple(pair) in truth for pair in links.pairs[order].tolist()])
taken = np.arange(1, len(order) + 1)
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.plot(right_so_far / len(truth), right_so_far / taken, label="true")
ax.errorbar(
    links.recall.value,
    links.precision.value,
    xerr=[[links.recall.value - links.recall.low], [links.recall.high - links.recall.value]],
    yerr=[
        [links.precision.value - links.precision.low],
        [links.precision.high - links.precision.value],
    ],
    fmt="o",
    capsize=3,
    label="expected, with 90 % intervals",
)
ax.set(xlabel="recall", ylabel="precision", ylim=(0.8, 1.01))
ax.legend(loc="lower left")

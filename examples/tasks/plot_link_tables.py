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
# How many of the seven cells of two records agree to the letter, and whether they were linked:

found = {tuple(pair) for pair in links.pairs.tolist()}
agree = {pair: int((left.iloc[pair[0]] == right.iloc[pair[1]]).sum()) for pair in truth | found}
numbers = range(len(left.columns) + 1)
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
bottom = np.zeros(len(numbers))
for name, some in (("found", truth & found), ("missed", truth - found), ("wrong", found - truth)):
    counts = np.bincount([agree[pair] for pair in some], minlength=len(numbers))
    ax.bar(numbers, counts, bottom=bottom, label=f"{name}: {len(some)}")
    bottom += counts
ax.set(xlabel="cells that agree", ylabel="pairs of records")
ax.legend()

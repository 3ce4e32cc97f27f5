"""
Records with typos: who is in the list twice?
=============================================

Which records of a list are the same person, written down with mistakes?

Nearly a third of the records are copies of others, with letters lost or swapped, cells left empty
and words cut short. :class:`nearkin.RecordMatcher` compares candidates column by column, and learns
from the whole table what differences copies have. It needs no answer at all to begin with.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import nearkin as nk

table, person = nk.datasets.make_records(600, random_state=0)
table = pd.DataFrame(table)
table.head()

# %%
# Some birthdays are cut short, so that they are compared letter by letter and not as dates.

matcher = nk.RecordMatcher(kinds={"born": "name"}, random_state=0).fit(table)
found = matcher.duplicates()
print(found)

# %%
# Two of the groups:

table.iloc[np.concatenate(found.groups[:2])]

# %%
# Every pair of candidates has a chance to be the same. Most are clear; the few between are the ones
# to ask about.

candidates, chance = matcher.candidates()
same = person[candidates[:, 0]] == person[candidates[:, 1]]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
axes[0].hist([chance[same], chance[~same]], bins=20, stacked=True, label=["same", "different"])
axes[0].set(yscale="log", xlabel="chance to be the same", ylabel="pairs of records")
axes[0].legend()
figures = {"precision": found.precision, "recall": found.recall}
nk.plot.estimates(figures, x="expected, without any answer", ax=axes[1])

# %%
# What is true can be looked up here, since the records were made up:

pairs = np.array([(a, b) for group in found.groups for a in group for b in group if a < b])
right = person[pairs[:, 0]] == person[pairs[:, 1]]
print(f"{right.mean():.1%} of the pairs found are right")

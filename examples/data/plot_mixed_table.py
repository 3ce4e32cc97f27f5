"""
A table with words, dates and gaps
==================================

Columns are names, dates, prices and yes or no, and some cells are empty. Which columns matter?

Learners take data frames as they are. What a column holds is recognised, and every column has the
same say at first. Pairs change that.
"""

import numpy as np
import pandas as pd

import nearkin as nk

rng = np.random.default_rng(0)
FRUIT = ["apple juice", "orange juice", "cherry juice", "apple juice mild"]
BREAD = ["rye bread", "wheat rolls", "oat bread", "white bread"]
SOAP = ["soap lavender", "hand soap", "soap bar", "liquid soap"]


def product(kind):
    """A line of a shop's list."""
    return {
        "name": str(rng.choice({"juice": FRUIT, "bread": BREAD, "soap": SOAP}[kind])),
        "price": round(float(rng.lognormal(1, 0.5)), 2),
        "listed": pd.Timestamp("2024-01-01") + pd.Timedelta(days=int(rng.integers(700))),
        "on shelf": str(rng.choice(["yes", "no"])),
        "store": str(rng.choice(["north", "south", "harbour"])),
        "keeps (days)": {"juice": 200, "bread": 4, "soap": 900}[kind] * rng.lognormal(0, 0.3),
    }


kind = rng.choice(["juice", "bread", "soap"], size=300)
table = pd.DataFrame([product(one) for one in kind])
table = table.mask(rng.random(table.shape) < 0.1)  # a tenth of the cells is missing
table.head()

# %%
# Thirty pairs say whether two lines are about one kind of product.

pairs = nk.Pairs.from_labels(kind[:150], 30, random_state=0)
metric = nk.ColumnWeights(random_state=0).fit(table[:150], pairs=pairs)
print(metric.table_.kinds_)

# %%
# Before learning, all columns count the same; after it, those that tell kinds apart:

plain = nk.Euclidean().fit(table[:150], pairs=pairs)
new = table[150:]
spaces = {"all columns alike": plain.transform(new), "learned": metric.transform(new)}
axes = nk.plot.side_by_side(spaces, kind[150:], size=24)

# %%
# The weight of each column, as a share of all:

weights = pd.Series(metric.group_weights_)
ax = nk.plot.importances((weights / weights.sum()).to_dict())
ax.set_xlabel("part of all weights, in %")

"""
One more answer, and the picture moves
======================================

How can a program show what each answer changes, at once?

``partial_fit`` learns from one more pair in milliseconds, and :class:`nearkin.LiveView` puts all
rows in their new places. This is what the studio does while people answer.
"""

from time import perf_counter

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import nearkin as nk

X, y = load_digits(n_class=5, return_X_y=True)
X = PCA(20, random_state=0).fit_transform(X)
answers = nk.Pairs.from_labels(y, 120, random_state=0)

# %%
# The metric starts with ten answers, and a view of it.

must, cannot = answers.must_link, answers.cannot_link
metric = nk.KernelBeta(n_landmarks=200, random_state=0)
metric.fit(X, pairs=nk.Pairs(must[:5], cannot[:5]))
view = nk.LiveView(metric, X)
pictures = {10: view.coordinates()}

# %%
# Then answers come one by one. Pictures after 30, 60 and 120 of them are kept.

times = []
for number in range(5, 60):
    start = perf_counter()
    metric.partial_fit(X, pairs=nk.Pairs(must[[number]], cannot[[number]]))
    places = view.coordinates()
    times.append(perf_counter() - start)
    if 2 * number + 2 in (30, 60, 120):
        pictures[2 * number + 2] = places

# %%

axes = nk.plot.side_by_side({f"{n} answers": Z for n, Z in pictures.items()}, y, size=8)

# %%
# The way of each point from the first picture to the last:

ax = nk.plot.motion(pictures[10], pictures[120], y, title="from 10 answers to 120", legend=True)
print(f"{len(X)} rows, two more answers: in less than a second each: {max(times) < 1}")

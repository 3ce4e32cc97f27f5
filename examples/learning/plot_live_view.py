"""
One more answer, and the picture moves
======================================

How can a program show what each answer changes, at once?

``partial_fit`` learns from one more pair in milliseconds, and :class:`nearkin.LiveView` puts all
rows in their new places. This is what the studio does while people answer.
"""

from time import perf_counter

import numpy as np

import nearkin as nk

X, y = nk.datasets.make_xor(600, random_state=0)
answers = nk.Pairs.from_labels(y, 60, random_state=0)
must, cannot = answers.must_link, answers.cannot_link

# %%
# The metric starts with two answers, and a view of it.

metric = nk.KernelBeta(n_landmarks=200, random_state=0)
metric.fit(X, pairs=nk.Pairs(must[:1], cannot[:1]))
view = nk.LiveView(metric, X)
pictures = {2: view.coordinates()}

# %%
# Then answers come two by two. Some of the pictures are kept.

times = []
for number in range(1, 30):
    start = perf_counter()
    metric.partial_fit(X, pairs=nk.Pairs(must[[number]], cannot[[number]]))
    places = view.coordinates()
    times.append(perf_counter() - start)
    if 2 * number + 2 in (6, 20, 60):
        pictures[2 * number + 2] = places

# %%

axes = nk.plot.side_by_side({f"{n} answers": Z for n, Z in pictures.items()}, y)

# %%
# Each picture took milliseconds; that is what makes points move while people answer.

print(f"{len(X)} rows are in their new places within a second: {np.median(times) < 1}")

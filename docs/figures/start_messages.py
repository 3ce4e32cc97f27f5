"""Messages by plain and by learned distance: those of docs/start/text.md, which has them."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import nearkin as nk

PAGE = Path(__file__).parents[1] / "start" / "text.md"
lines = re.findall(r"^(late|broken|bill|thanks)\|(.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
texts = [text for _, text in lines]
matter = np.array([name for name, _ in lines])
is_sound = np.array([bool(re.search("headphones|speaker|earbuds", text)) for text in texts])

pairs = nk.Pairs.from_labels(matter, 40, random_state=1)
counted = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
metric = nk.Chain([counted, nk.MetricLearner(random_state=0)]).fit(texts, pairs=pairs)
spaces = {
    "plain distance": counted.fit_transform(texts).toarray(),
    "learned from 40 pairs": metric.transform(texts),
}

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6))
for ax, (title, points) in zip(axes, spaces.items(), strict=True):
    plane = nk.plot.in_the_plane(points)
    for number, name in enumerate(("late", "broken", "bill", "thanks")):
        for mark, chosen in (("o", ~is_sound), ("X", is_sound)):
            ax.scatter(
                *plane[(matter == name) & chosen].T,
                color=f"C{number}",
                marker=mark,
                s=40,
                label=name if mark == "o" else None,
            )
    ax.set(xticks=[], yticks=[], title=title)
axes[0].legend(fontsize=8)

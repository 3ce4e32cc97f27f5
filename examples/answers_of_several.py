"""Learn from people, a language model and a rule that contradict each other.

Two people, a language model and a rule of thumb were asked whether pairs of handwritten digits are
the same. The people saw some pairs each, the model all of them, and the rule counts ink. Nobody
knows beforehand who can be relied on: the answers themselves tell, with the help of the metric.
Run it to get ``answerers.png``.

What each says is simulated here. With your own, make a table of the columns left, right, same and
by, from whatever asks people or models, and read it with ``Answers.from_frame``.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from nearkin import Answers, MetricLearner, Pairs

mpl.use("Agg")
import matplotlib.pyplot as plt

# Who answers: the share of pairs they look at, and of answers that are wrong.
PEOPLE = {"Ann": (0.5, 0.05), "Bob": (0.5, 0.3), "language model": (1.0, 0.15)}
N_PAIRS = 300


def asked(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """A line for each answer."""
    pairs = Pairs.from_labels(y, N_PAIRS, random_state=0)
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    true = y[links[:, 0]] == y[links[:, 1]]
    ink = X.sum(axis=1)
    said = {"rule": np.abs(ink[links[:, 0]] - ink[links[:, 1]]) < 0.1 * ink.mean()}
    said |= {name: true ^ (rng.random(len(true)) < wrong) for name, (_, wrong) in PEOPLE.items()}
    tables = []
    for name, same in said.items():
        share, _ = PEOPLE.get(name, (1.0, 0.0))
        table = pd.DataFrame({"left": links[:, 0], "right": links[:, 1], "same": same, "by": name})
        tables.append(table[rng.random(len(table)) < share])
    return pd.concat(tables, ignore_index=True)


def main() -> None:
    """Ask, learn, and draw who is wrong how often."""
    X, y = load_digits(return_X_y=True)
    answers = Answers.from_frame(asked(X, y, np.random.default_rng(0)), n_rows=len(X))
    metric = MetricLearner(random_state=0).fit(X, pairs=answers)
    print(metric.report_)

    found = metric.answerers_[::-1]
    value, low, high = np.array([(a.wrong.value, a.wrong.low, a.wrong.high) for a in found]).T
    figure, axes = plt.subplots(figsize=(6, 2.5), layout="constrained")
    axes.errorbar(value, range(len(found)), xerr=[value - low, high - value], fmt="o", capsize=3)
    axes.set_yticks(range(len(found)), [f"{a.name}, {a.n_answers} answers" for a in found])
    axes.set_xlabel("share of wrong answers, with 90 % interval")
    axes.set_xlim(0, 1)
    figure.savefig(Path("answerers.png"), dpi=150)
    print("written: answerers.png")


if __name__ == "__main__":
    main()

"""Find the records that are the same thing, written differently.

A list of customers has grown over the years: the same people are in it twice or three times, with
slips of the pen, initials and abbreviations. Which differences matter is for somebody to say who
looks at some pairs: who wrote the record down and when does not, another street does. The learned
distance follows; how near records of one person are, the index finds from how near records lie to
each other. Run it to get ``duplicates.png``.

Texts become vectors by the letters that they are made of; take any others the same way.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from nearkin import GMML, Euclidean, NeighborIndex, Pairs

mpl.use("Agg")
import matplotlib.pyplot as plt

N_PEOPLE, N_PAIRS = 150, 250
FIRST = "Anna Boris Clara David Elena Frank Greta Henrik Irene Jonas Karla Lukas Maria Nils Olga"
LAST = "Abbott Brandt Carlsen Dupont Eriksen Fischer Garcia Hansen Ivanov Jansen Keller Lehmann"
STREET = "Station Garden Church Market Harbour Forest Castle Mill River School"
TOWN = "Bergen Lyon Porto Ghent Graz Turku Brno Cork Aarhus Basel"
CLERK = "Miller Novak Rossi"
MONTH = "January April June September November"


def records(rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Texts, and the number of the person that each is about."""
    texts, person = [], []
    for number in range(N_PEOPLE):
        first, last, street, town = (
            str(rng.choice(names.split())) for names in (FIRST, LAST, STREET, TOWN)
        )
        house = str(rng.integers(1, 100))
        for _ in range(int(rng.choice([1, 2, 3], p=[0.5, 0.35, 0.15]))):
            name = f"{first[0]}." if rng.random() < 0.2 else first
            road = str(rng.choice(["Street", "Str.", "St"]))
            clerk, month = (str(rng.choice(words.split())) for words in (CLERK, MONTH))
            text = misspelt(f"{name} {last}, {street} {road} {house}, {town}", rng)
            texts.append(f"{text} (told {clerk} in {month})")
            person.append(number)
    order = rng.permutation(len(texts))
    return [texts[i] for i in order], np.array(person)[order]


def misspelt(text: str, rng: np.random.Generator) -> str:
    """One letter is lost in some texts, two change places in others; numbers stay."""
    letters = [i for i in range(len(text) - 1) if text[i : i + 2].isalpha()]
    place, chance = int(rng.choice(letters)), rng.random()
    if chance < 0.3:
        return text[:place] + text[place + 1 :]
    if chance < 0.5:
        return text[:place] + text[place + 1] + text[place] + text[place + 2 :]
    return text


def judged(X: np.ndarray, person: np.ndarray, rng: np.random.Generator) -> Pairs:
    """What somebody says of pairs of records that look alike, where it is hard to tell."""
    _, nearest = NeighborIndex().add(X).query(X, 4)
    ends = np.array([(i, int(j)) for i, row in enumerate(nearest) for j in row if i < j])
    ends = ends[rng.choice(len(ends), N_PAIRS, replace=False)]
    same = person[ends[:, 0]] == person[ends[:, 1]]
    return Pairs(ends[same], ends[~same])


def quality(groups: list[np.ndarray], person: np.ndarray, pairs: Pairs) -> str:
    """How many of the pairs found are right, and how many of the right ones are found.

    Of those that nobody has judged.
    """
    counted = unjudged(len(person), pairs)
    found = np.zeros_like(counted)
    for group in groups:
        found[np.ix_(group, group)] = True
    found, same = counted & found, counted & (person[:, None] == person)
    right = (found & same).sum()
    return (
        f"{right / found.sum():.0%} of the other pairs found are right, and "
        f"{right / same.sum():.0%} of all that there are were found"
    )


def unjudged(n: int, pairs: Pairs) -> np.ndarray:
    """Which pairs of n rows nobody has judged, each once, as a matrix."""
    others = np.triu(np.ones((n, n), dtype=bool), 1)
    others[tuple(np.concatenate([pairs.must_link, pairs.cannot_link]).T)] = False
    return others


def main() -> None:
    """Vectors, some judged pairs, a metric, groups."""
    rng = np.random.default_rng(0)
    texts, person = records(rng)
    vectors = make_pipeline(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), sublinear_tf=True),
        TruncatedSVD(120, random_state=0),
    )
    X = vectors.fit_transform(texts)
    pairs = judged(X, person, rng)
    metric = GMML(random_state=0).fit(X, pairs=pairs)

    index = NeighborIndex(metric).add(X)
    groups = index.duplicates()
    print(f"{len(texts)} records, {len(pairs)} pairs judged by hand; some of the groups found:")
    for group in groups[:4]:
        print("", *(texts[i] for i in group), sep="\n  ")
    plain = NeighborIndex(Euclidean(random_state=0).fit(X, pairs=pairs)).add(X)
    print(f"\nlearned distance: {quality(groups, person, pairs)}")
    print(f"Euclidean distance: {quality(plain.duplicates(), person, pairs)}")

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    others = unjudged(len(X), pairs)
    same = person[:, None] == person
    before = np.linalg.norm(X[:, None] - X, axis=2)
    for ax, D, title in zip(
        axes, (before, metric.distance(X)), ("letters", "learned"), strict=True
    ):
        for which, label in ((same, "one person"), (~same, "two people")):
            ax.hist(D[which & others], bins=40, density=True, alpha=0.6, label=label)
        ax.set_title(f"{title}: distances between records")
    axes[1].axvline(index.radius_for(), color="0.2", linestyle="--", label="the same up to here")
    axes[1].legend()
    figure.savefig("duplicates.png", dpi=90)
    print("picture:", Path("duplicates.png").resolve())


if __name__ == "__main__":
    main()

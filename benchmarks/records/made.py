"""Made-up organisations, with groups of dozens or hundreds of records, to tune on and to report on.

An organisation has words of its own and of its trade, a town and a class; each record drops,
shortens, swaps and misspells words, as those who copy such names from papers or forms do.
"""

from __future__ import annotations

import numpy as np

Table = tuple[dict[str, list[str | None]], np.ndarray]
_SYLLABLES = ("ka", "ro", "min", "tel", "va", "sen", "du", "bri", "lo", "mar", "ti", "gen", "fo")
_TRADES = (
    "university", "institute", "department", "laboratory", "systems", "college", "research",
    "science", "computer", "engineering", "software", "data", "centre", "school",
)  # fmt: skip
_SHORT = {
    "university": "univ", "department": "dept", "laboratory": "lab", "institute": "inst",
    "computer": "comp", "engineering": "eng",
}  # fmt: skip


def organisations(n_things: int, largest: int, seed: int, *, one_column: bool) -> Table:
    """Records of organisations in groups of one to ``largest``, and whose each is."""
    rng = np.random.RandomState(seed)
    sizes = np.minimum((1 / rng.uniform(size=n_things) ** 0.9).astype(int), largest)
    towns = [_word(rng, 2) for _ in range(max(n_things // 4, 3))]
    names, places, kinds, whose = [], [], [], []
    for thing, size in enumerate(sizes.tolist()):
        own = [_word(rng, rng.randint(2, 4)) for _ in range(rng.randint(1, 3))]
        words = [*own, *rng.choice(_TRADES, rng.randint(1, 4), replace=False).tolist()]
        town, kind = (
            towns[rng.randint(len(towns))],
            f"{rng.choice(list('abgh'))}{rng.randint(99):02d}",
        )
        for _ in range(size):
            names.append(_written(words, rng))
            places.append(town if rng.uniform() < 0.7 else None)
            kinds.append(kind if rng.uniform() < 0.6 else None)
            whose.append(thing)
    order = rng.permutation(len(names))
    table = {"name": names, "place": places, "class": kinds}
    if one_column:
        table = {
            "affiliation": [f"{n}, {p}" if p else n for n, p in zip(names, places, strict=True)]
        }
    return {c: [cells[i] for i in order] for c, cells in table.items()}, np.array(whose)[order]


def _word(rng: np.random.RandomState, n: int) -> str:
    return "".join(rng.choice(_SYLLABLES, n))


def _written(words: list[str], rng: np.random.RandomState) -> str:
    """A name as somebody writes it."""
    kept = [word for k, word in enumerate(words) if k == 0 or rng.uniform() < 0.8]
    kept = [_SHORT.get(word, word) if rng.uniform() < 0.4 else word for word in kept]
    if rng.uniform() < 0.3:
        kept = [kept[k] for k in rng.permutation(len(kept))]
    text = " ".join(kept)
    for _ in range(rng.poisson(0.4)):
        place = rng.randint(len(text))
        text = text[:place] + rng.choice(list("aeiort")) * rng.randint(2) + text[place + 1 :]
    return text

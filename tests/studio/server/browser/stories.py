"""Records as people have them: long texts, one from right to left, gaps, numbers, and vectors."""

import numpy as np
import pandas as pd

N = 60
TOWNS = ["Graz", "Łódź", None]
WORDS = "The old mill by the river was sold again last year, and nobody in town knows to whom. "
ARABIC = "هذه قصة قصيرة عن بيت قديم بجانب النهر. "


def stories():
    """A data frame of 60 of them."""
    rng = np.random.default_rng(0)
    texts = [f"Story {k}. {WORDS * 30}The end of story {k}." for k in range(N)]
    texts[5::6] = [ARABIC * 20 for _ in texts[5::6]]
    return pd.DataFrame(
        {
            "id": [f"s{k}" for k in range(N)],
            "title": [f"{'Café' if k % 4 else 'Mill'} no {k}" for k in range(N)],
            "town": [TOWNS[k % 3] for k in range(N)],
            "text": texts,
            "price": [None if k % 7 == 0 else round(float(k), 2) for k in rng.permutation(N)],
            "vector": rng.normal(size=(N, 6)).round(3).tolist(),
        }
    )

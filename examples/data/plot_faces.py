"""
Faces: one set of pictures, two questions
=========================================

Do pairs decide what "alike" means? Here they say "the same person" first, and "the same mood" then.

The faces are drawn by a few lines of code. Each of six persons has a face of their own width, with
eyes that far apart; the mouth says the mood.
"""

import numpy as np

import nearkin as nk

SIZE = 24
rng = np.random.default_rng(0)
across, down = np.meshgrid(np.linspace(-1, 1, SIZE), np.linspace(-1, 1, SIZE))


def face(width, eyes, smile):
    """Pixels of a face, with a little noise."""
    width, eyes, smile = np.array([width, eyes, smile]) + rng.normal(scale=[0.02, 0.02, 0.05])
    outline = np.exp(-(((np.hypot(across / width, down) - 0.9) / 0.08) ** 2))
    left, right = (np.hypot(across - side * eyes, down + 0.25) < 0.12 for side in (-1, 1))
    curve = 0.45 + 0.25 * smile - 0.8 * smile * across**2
    mouth = (np.abs(down - curve) < 0.09) & (np.abs(across) < 0.4)
    pixels = np.clip(outline + left + right + mouth, 0, 1)
    return np.ravel(pixels + rng.normal(scale=0.15, size=pixels.shape))


PERSONS = [(w, e) for w in (0.6, 0.75, 0.9) for e in (0.2, 0.38)]
person = rng.integers(len(PERSONS), size=500)
mood = rng.integers(3, size=500)
X = np.array([face(*PERSONS[p], m - 1) for p, m in zip(person, mood, strict=True)])
mood = np.array(["sad", "calm", "glad"])[mood]
titles = [f"{p}, {m}" for p, m in zip(person[:16], mood[:16], strict=True)]
nk.plot.pictures(X[:16], (SIZE, SIZE), titles=titles)

# %%
# Eighty pairs for each question, and one metric for each. The last two hundred pictures are in
# no pair.

old, new = slice(300), slice(300, None)


def taught(what):
    """A metric from pairs that are the same in this respect, or not."""
    pairs = nk.Pairs.from_labels(what[old], 80, random_state=0)
    return nk.ITML(random_state=0).fit(X[old], pairs=pairs)


by_person, by_mood = taught(person), taught(mood)

# %%
# Coloured by person: who was asked about persons gets them together.

spaces = {
    "pixels": X[new],
    "taught persons": by_person.transform(X[new]),
    "taught moods": by_mood.transform(X[new]),
}
axes = nk.plot.side_by_side(spaces, person[new])

# %%
# Coloured by mood: the same three spaces, and now the third has the order.

# sphinx_gallery_thumbnail_number = 3
axes = nk.plot.side_by_side(spaces, mood[new])

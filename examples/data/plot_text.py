"""
Short messages: by what they ask for
====================================

Messages to a shop are about products, and about what went wrong. Their words are mostly those of
the product. Can pairs make the matter count?

The texts below become numbers by the letters that they are made of. Take the vectors of a language
model in their place if you have one: a row for each text is all that is needed.
"""

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import nearkin as nk

PRODUCTS = {
    "bicycle": ["bicycle", "bike", "mountain bike", "saddle", "front wheel"],
    "coffee": ["coffee machine", "espresso machine", "grinder", "milk frother", "beans"],
    "boots": ["hiking boots", "leather shoes", "sandals", "laces", "walking boots"],
}
MATTERS = {
    "late": [
        "Where is my {}? It should have arrived on Monday.",
        "Still waiting for the {}, it is two weeks late.",
        "When will you ship the {} that I ordered in May?",
        "No news of the {}, and tracking shows nothing.",
        "The courier was to bring the {} today, but nobody came.",
    ],
    "broken": [
        "The {} came with a crack, and a part fell off.",
        "After one day the {} stopped working.",
        "I unpacked the {} and found it damaged.",
        "The {} is faulty, it does not hold at all.",
        "There is a dent in the {}, please send another.",
    ],
    "bill": [
        "You charged my card twice for the same {}.",
        "The invoice for the {} is wrong, the discount is missing.",
        "I returned the {} in June and still have no refund.",
        "Why did I pay a fee for the {}?",
        "The {} costs more on the bill than in the shop.",
    ],
    "thanks": [
        "Thank you, my daughter loves the {}!",
        "What a great {}, I use it every day.",
        "I am very happy with the {}. Many thanks!",
        "The {} is the best I ever had, thanks.",
        "Wonderful {}, and such kind people.",
    ],
}
rows = [
    (phrase.format(word), product, matter)
    for product, words in PRODUCTS.items()
    for matter, phrases in MATTERS.items()
    for phrase in phrases
    for word in words
]
texts, product, matter = np.array(rows)[np.random.default_rng(0).permutation(len(rows))].T
print(texts[0], texts[1], sep="\n")

# %%
# Vectors of letters, and sixty pairs of the first 150 messages. Nobody has to know how a matter is
# called: it is enough to see that two messages are about the same one.

letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
X = make_pipeline(letters, TruncatedSVD(60, random_state=0)).fit_transform(texts)
pairs = nk.Pairs.from_labels(matter[:150], 60, random_state=0)
metric = nk.MetricLearner(random_state=0).fit(X[:150], pairs=pairs)

# %%
# New messages, coloured by their matter:

new = slice(150, None)
spaces = {"letters": X[new], "learned from 60 pairs": metric.transform(X[new])}
axes = nk.plot.side_by_side(spaces, matter[new], size=20)

# %%
# What is nearest to a new message, before and after:

index = 150 + int(np.argmax(matter[new] == "late"))
print("new message:", texts[index])
for name, Z in {"letters": X, "learned": metric.transform(X)}.items():
    nearest = np.argsort(np.linalg.norm(Z[:150] - Z[index], axis=1))[:3]
    print(f"\nnearest by {name}:", *texts[nearest], sep="\n  ")

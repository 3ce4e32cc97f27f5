"""Let an encoder of your own stand in for a column of texts.

A help desk has a table of what came in: the text, the product and the day. Twenty pairs say which
lines are about one matter. Columns become numbers by themselves, texts by their letters; but "I
want my money back" and "please reimburse me" share no word, and hardly a letter. An encoder that
knows what words mean sees it, and any will do: a function from a list of texts to vectors, or an
object with ``fit`` and ``transform`` as scikit-learn has them. Run it to get ``text_column.png``.

With ``pip install wordllama`` there is one: a small static encoder whose weights come inside the
package, so that nothing is downloaded. Without it, it is left out, and a line says so.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from nearkin import ColumnWeights, Pairs, TableEncoder
from nearkin.scores import pair_auc

mpl.use("Agg")
import matplotlib.pyplot as plt

N_PAIRS = 20
MATTERS = {
    "refund": """
        I want my money back
        Please reimburse me for the purchase
        When will the amount be returned to my account?
        Kindly refund what I paid
        You owe me a repayment
        Give back the sum you charged
        No reimbursement has come so far
        The payment should be credited to me again""",
    "late": """
        My parcel has not arrived
        Where is the shipment?
        The delivery is two weeks overdue
        Still waiting for the courier
        The package never came
        How long until my order gets here?
        Tracking says it left long ago, nothing reached us
        It should have been brought on Monday""",
    "broken": """
        It stopped working after a day
        The screen is cracked
        The device came damaged
        A button fell off
        It does not switch on any more
        There is a defect in the motor
        The case was smashed when I opened the box
        The battery is dead and will not charge""",
    "password": """
        I cannot log in
        My password is not accepted
        How do I reset the login?
        The account is locked
        I forgot my credentials
        Signing in fails every time
        The code for access never gets accepted
        Let me choose a new passphrase""",
    "praise": """
        Thank you, it is wonderful
        I love it
        Great service, very happy
        Excellent quality, well done
        My family is delighted
        What a lovely present
        The best shop I know, thanks
        We are so pleased with everything""",
}
PRODUCTS = ("radio", "kettle", "lamp", "watch")


def messages(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """A table in random order, and the matter of each line."""
    lines = [
        (line.strip(), matter)
        for matter, lines in MATTERS.items()
        for line in lines.strip().splitlines()
    ]
    texts, matters = np.array(lines)[rng.permutation(len(lines))].T
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, len(lines)), "D")
    product = rng.choice(PRODUCTS, len(lines))
    return pd.DataFrame({"text": texts, "product": product, "day": days}), matters


def encoders() -> dict[str, Any]:
    """What stands in for the column, by name; None is what tables do by themselves."""
    words = make_pipeline(TfidfVectorizer(), TruncatedSVD(20, random_state=0))
    found = {"letters": None, "words, by scikit-learn": words}
    try:
        import wordllama
    except ImportError:
        print("wordllama is not installed and is left out: pip install wordllama")
        return found
    # With its own folder as the cache it finds all its files, and downloads none.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    meaning: Callable[[list[str]], np.ndarray] = lambda texts: model.embed(texts, norm=True)  # noqa: E731
    return {**found, "meaning, by wordllama": meaning}


def main() -> None:
    """Learn from pairs of half of the table, and see how well the other half is told apart."""
    table, matters = messages(np.random.default_rng(0))
    old, new = table[:20], table[20:]
    pairs = Pairs.from_labels(matters[:20], N_PAIRS, random_state=0)
    scores, weights = {}, {}
    for name, encoder in encoders().items():
        own = None if encoder is None else {"text": encoder}
        made = TableEncoder(text_encoder=own, kinds={"text": "text"}).fit(old)
        metric = ColumnWeights(groups=made.groups_.tolist(), random_state=0)
        metric.fit(made.transform(old), pairs=pairs)
        scores[name] = pair_auc(metric.transform(made.transform(new)), matters[20:])
        weights[name] = metric.group_weights_
    print("how often two new lines on one matter are closer than two on different ones:")
    for name, score in scores.items():
        told = ", ".join(f"{column} {weight:.1f}" for column, weight in weights[name].items())
        print(f"    {name:24} {score:.2f}   weights: {told}")

    figure, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
    ax.barh(list(scores), list(scores.values()), color="C0")
    ax.axvline(0.5, color="0.3", linestyle="--")
    ax.set_xlim(0.4, 1)
    ax.set_xlabel("pair AUC of new lines (0.5: by chance)")
    figure.savefig("text_column.png", dpi=90)
    print("picture:", Path("text_column.png").resolve())


if __name__ == "__main__":
    main()

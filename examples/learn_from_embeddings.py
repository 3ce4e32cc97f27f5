"""Make text embeddings group messages the way you mean.

Embeddings bring texts on one thing together: all messages on bicycles here, all on boots there. A
support desk may want another order: what is late, what is broken, who was charged too much, who
says thanks. Fifty pairs of messages tell, and the learned distance follows, for new messages too.
Run it to get ``embeddings.png``.

With ``pip install wordllama`` a small language model embeds the texts; its weights come inside the
package. Without it, the letters that a text is made of do. Take the embeddings of any other model
the same way: one row for each text or image.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from nearkin import MetricLearner, Pairs
from nearkin.scores import pair_auc

mpl.use("Agg")
import matplotlib.pyplot as plt

MESSAGES = {
    ("bicycle", "late"): """
        My bicycle should have arrived on Monday. Where is it?
        Still waiting for the bike, it is two weeks late.
        When will you ship the mountain bike that I ordered in May?
        No news of my new bicycle, and tracking shows nothing.
        The courier was to bring the bike today, but nobody came.
        How much longer do I have to wait for the saddle and the pedals?
        Delivery of the bike was put off again, for the third time.""",
    ("bicycle", "broken"): """
        The front wheel of the bicycle came bent and two spokes are broken.
        A pedal fell off on my first ride.
        There is a crack in the frame of the bike, right under the saddle.
        The gears stopped working after one day, the chain is damaged.
        My bike has a faulty brake, it does not hold at all.
        The bicycle bell is broken and the saddle is torn.
        A tyre burst when I unpacked the bike, and the rim has a dent.""",
    ("bicycle", "bill"): """
        You charged my card twice for the same bicycle.
        The invoice for the bike is wrong, the discount is missing.
        I returned the bicycle in June and still have no refund.
        Why did I pay a fee to have the pedals fitted?
        Please send a new bill for the saddle, with our company name.
        The bike costs more on the invoice than in the shop.
        My money for the cancelled mountain bike was never paid back.""",
    ("bicycle", "thanks"): """
        Thank you, my daughter loves her new bicycle!
        What a great bike, I ride it to work every day.
        The saddle is so comfortable, I am very happy with it. Thanks!
        Many thanks for the good advice on choosing a mountain bike.
        Wonderful wheels, smooth gears, the best bike I ever had.
        Thanks a lot to the kind man who explained the brakes to me.
        Happy to ride again, you have a friendly team.""",
    ("coffee", "late"): """
        Where is my coffee machine? It was to be here on Friday.
        We ran out of espresso and your beans are ten days late.
        You told me the milk frother would ship last week. When will it?
        Tracking of the coffee machine has not moved since Sunday.
        I stayed at home for the courier and the grinder never arrived.
        Still no coffee in our office. How much longer do we wait?
        The espresso machine was put off again. Any news?""",
    ("coffee", "broken"): """
        The water tank of the coffee machine has a crack.
        After three cups of espresso the grinder stopped working.
        A faulty milk frother: it does not get warm at all.
        I unpacked the coffee machine and found the glass pot broken.
        The espresso machine leaks, a seal must be damaged.
        On the first morning a button of the machine fell off.
        The lid for the beans is bent and does not close.""",
    ("coffee", "bill"): """
        My card was charged for two coffee machines, I bought one.
        Wrong invoice: I never ordered five bags of espresso.
        The grinder went back weeks ago. Where is my refund?
        There is a fee on my bill for coffee that should be free.
        Our office needs an invoice for the coffee machine, please.
        You promised a discount on the beans and I paid the full price.
        Pay me back the money for the milk frother that I returned.""",
    ("coffee", "thanks"): """
        The best espresso I ever had at home, thank you!
        Our office loves the coffee machine, what a great choice.
        Wonderful milk foam every morning. Thanks, I am happy!
        Your advice on how to grind the beans was so good, many thanks.
        Great coffee, kind people, I will tell all my friends.
        Thanks for the free bag of beans, that was friendly of you.
        So happy with the grinder, it is very quiet.""",
    ("boots", "late"): """
        Our trip starts tomorrow and the hiking boots have not arrived.
        Still waiting for the shoes that I ordered a month ago.
        When do you ship the leather boots at last?
        Where are my sandals? Summer is over soon.
        Nobody came with the boots, and the courier has no news.
        Two weeks late, for a pair of laces!
        The delivery date of my shoes was moved again, I cannot wait longer.""",
    ("boots", "broken"): """
        The sole of the left boot fell off on the first walk.
        There is a hole in the leather, the shoes came damaged.
        The zip of the boots is broken and does not close.
        One heel is bent after a day in these shoes.
        The laces were torn when I unpacked the boots.
        Faulty boots: water gets in through a crack in the sole.
        The buckle of my sandals stopped working and then came off.""",
    ("boots", "bill"): """
        One pair of boots, but you charged me for two.
        There is a mistake in the invoice, I bought shoes and no laces.
        Still no refund for the hiking boots that I sent back.
        Do I really pay a fee to swap shoes for a larger size?
        I never got a bill for the sandals. Please send it by mail.
        The boots were half the price in the shop. Why not on the invoice?
        When is the money for the returned leather shoes paid back?""",
    ("boots", "thanks"): """
        The boots fit perfectly and keep my feet dry, thank you!
        What great shoes, I walked all day without a blister.
        Such soft leather, I am very happy. Thanks!
        Thanks for the good advice on the size of the boots.
        Wonderful sandals, the best I ever had on my feet.
        How kind of you to add extra laces, many thanks.
        My wife loves her hiking boots, and I love mine. A friendly shop!""",
    ("headphones", "late"): """
        The party was on Saturday and the speaker has still not arrived.
        Is there any news of my headphones? They are a month late.
        I ordered the earbuds in March. When will you ship them?
        No courier, no speaker, and tracking shows nothing.
        How long do I have to wait for a charging cable?
        My headphones should be here by now. Where are they?
        The earbuds were put off again, to next week. Too late for me.""",
    ("headphones", "broken"): """
        The left side of the headphones stopped working, there is no sound.
        The speaker came with a crack and makes a terrible noise.
        My earbuds are faulty, the battery does not charge at all.
        The cable of the headphones is broken near the plug.
        The volume button of the speaker fell off.
        The ear pads are torn and the case is bent.
        The headphones were damaged when I unpacked them, one ear is silent.""",
    ("headphones", "bill"): """
        Why was my card charged twice? I bought one pair of headphones.
        The discount for the speaker is missing on the invoice.
        I sent the earbuds back. When do I get the refund?
        You took a fee for a cable that was free with the headphones.
        Please correct the bill for the speaker, our company name is wrong.
        The invoice shows a higher price for the earbuds than I agreed to pay.
        No money back yet for the headphones that I cancelled.""",
    ("headphones", "thanks"): """
        The sound of these headphones is amazing, thank you!
        The whole family loves the speaker, what a great present.
        So comfortable on my ears, I am very happy. Many thanks!
        Thanks for your kind advice on pairing the earbuds.
        Wonderful bass, clear music, the best headphones I ever had.
        Thank you for the free case, so friendly.
        I wear the earbuds all day and I am happy with them.""",
}


def messages() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts, the product that each is about, and the matter that it raises."""
    rows = [
        (line.strip(), product, matter)
        for (product, matter), lines in MESSAGES.items()
        for line in lines.strip().splitlines()
    ]
    texts, products, matters = np.array(rows).T
    return texts, products, matters


def embed(texts: np.ndarray) -> np.ndarray:
    """A row of length one for each text."""
    try:
        import wordllama
    except ImportError:
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
        svd = TruncatedSVD(100, random_state=0)
        return make_pipeline(letters, svd, Normalizer()).fit_transform(texts)
    # With its own folder as the cache it finds all its files, and downloads none.
    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return model.embed(texts.tolist(), norm=True)


def draw(spaces: dict[str, np.ndarray], products: np.ndarray, matters: np.ndarray) -> None:
    """Both spaces in the plane. Colours are matters, shapes are products."""
    colours = {matter: f"C{number}" for number, matter in enumerate(np.unique(matters))}
    markers = dict(zip(np.unique(products), "os^X", strict=True))
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for ax, (name, Z) in zip(axes, spaces.items(), strict=True):
        plane = PCA(2, random_state=0).fit_transform(Z)
        for point, product, matter in zip(plane, products, matters, strict=True):
            ax.scatter(*point, s=28, color=colours[matter], marker=markers[product])
        ax.set_title(f"{name}: pair AUC {pair_auc(Z, matters):.2f}")
        ax.set_xticks([])
        ax.set_yticks([])
    for matter, colour in colours.items():
        axes[0].scatter([], [], s=28, color=colour, label=matter)
    for product, marker in markers.items():
        axes[1].scatter([], [], s=28, color="0.5", marker=marker, label=product)
    for ax in axes:
        ax.legend(fontsize=8)
    figure.savefig("embeddings.png", dpi=90)
    print("picture:", Path("embeddings.png").resolve())


def main() -> None:
    """Learn from pairs of old messages, then look at new ones."""
    texts, products, matters = messages()
    X = embed(texts)
    old, new = train_test_split(np.arange(len(X)), train_size=70, stratify=matters, random_state=0)

    # You would write Pairs(must_link=[(3, 21), ...], cannot_link=[...]) from what you know.
    pairs = Pairs.from_labels(matters[old], 50, random_state=0)
    metric = MetricLearner(random_state=0).fit(X[old], pairs=pairs)
    spaces = {"embeddings": X, "learned distance": metric.transform(X)}

    query = new[list(texts[new]).index("My headphones should be here by now. Where are they?")]
    print("new message:", texts[query])
    for name, Z in spaces.items():
        distance = np.linalg.norm(Z[old] - Z[query], axis=1)
        print(f"\nnearest old ones, {name}:")
        for row in old[np.argsort(distance)[:4]]:
            print(f"    {texts[row]}")

    print("\nhow often two new messages of a kind are closer than two of different kinds:")
    print(f"{'':20}{'same product':>14}{'same matter':>14}")
    for name, Z in spaces.items():
        by_product, by_matter = (pair_auc(Z[new], kinds[new]) for kinds in (products, matters))
        print(f"{name:20}{by_product:14.2f}{by_matter:14.2f}")

    draw({name: Z[new] for name, Z in spaces.items()}, products[new], matters[new])


if __name__ == "__main__":
    main()

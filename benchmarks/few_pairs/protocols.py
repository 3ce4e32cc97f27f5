"""What methods are told, and how often that is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.few_pairs.data import DATA, MANY_CLASSES, Draw, draw

DRAWS, FEW_DRAWS, ONE_DRAW = 10, 2, 1


@dataclass(frozen=True)
class Protocol:
    """What is known, and of which rows."""

    n_pairs: tuple[int, ...] = (10, 20, 50, 200, 1000)
    data: tuple[str, ...] = DATA
    share_wrong: float = 0.0
    unseen_classes: bool = False
    only_must: bool = False
    at_random: bool = False

    def draw(self, data: str, n_pairs: int, seed: int) -> Draw:
        return draw(
            data,
            n_pairs,
            self.share_wrong,
            seed,
            unseen_classes=self.unseen_classes,
            only_must=self.only_must,
            at_random=self.at_random,
        )


CLEAN, NOISY, UNSEEN = "all pairs right", "20 % of pairs wrong", "unseen classes"
RANDOM = "pairs of any two rows"
PROTOCOLS = {
    CLEAN: Protocol(),
    NOISY: Protocol(share_wrong=0.2),
    UNSEEN: Protocol((50, 200), MANY_CLASSES, unseen_classes=True),
    RANDOM: Protocol(at_random=True),
    "must-links only": Protocol((20, 50, 200), only_must=True),
    "5 % of pairs wrong": Protocol((50, 200), share_wrong=0.05),
    "35 % of pairs wrong": Protocol((50, 200), share_wrong=0.35),
}

"""Who answered, how often wrong, and who should be looked at."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from nearkin.errors import counted
from nearkin.pairs.estimates import Estimate
from nearkin.storage.schema import a, stored, text, whole

# Whoever is wrong this often at least should be looked at; of whoever's rate may be anything in an
# interval so wide, too little is known.
_OFTEN_WRONG, _WIDE = 0.2, 0.3
# Who answered where nobody is named.
UNNAMED = "unnamed"
# Lines of a table, and names of a sentence.
_MOST_LISTED, _MOST_NAMED = 10, 3


@stored(name=text, n_answers=whole, wrong=a("Estimate"))
class Answerer(NamedTuple):
    """A person, rule or program that answers, with its estimated error rate.

    Attributes
    ----------
    name : str
    n_answers : int
    wrong : Estimate
        Share of answers that are wrong, with its 90 % interval.

    Examples
    --------
    >>> from nearkin import Answers
    >>> links = [(i, i + 1) for i in range(20)]
    >>> answers = Answers(
    ...     3 * links, 20 * [1] + 20 * [1] + 10 * [0, 1], by=20 * ["A"] + 20 * ["B"] + 20 * ["C"]
    ... )
    >>> [(one.name, one.n_answers) for one in answers.answerers]
    [('A', 20), ('B', 20), ('C', 20)]
    >>> answers.answerers[-1].wrong.value > 0.3
    True
    """

    name: str
    n_answers: int
    wrong: Estimate

    def __str__(self) -> str:
        return f"{self.name}: {counted(self.n_answers, 'answer')}, wrong {self.wrong}"


def advice(answerers: list[Answerer]) -> str:
    """Who should be looked at, in a sentence or two; empty if nobody answered."""
    if not answerers:
        return ""
    reversed_ = [one for one in answerers if one.wrong.low > 0.5]
    often = [one for one in answerers if _OFTEN_WRONG < one.wrong.low <= 0.5]
    named = [one for one in answerers if one.name != UNNAMED]
    unknown = [one for one in named if one.wrong.high - one.wrong.low > _WIDE]
    said = []
    if reversed_:
        said.append(
            f"Mostly wrong: {_names(reversed_)}. What they say counts as the opposite; ask whether "
            "they took same for different."
        )
    if often:
        said.append(f"Look at answers of {_names(often)}: many are wrong.")
    if unknown:
        said.append(
            f"Too little is known of {_names(unknown)}: more answers to pairs that others answer "
            "too would tell."
        )
    return " ".join(said) or "Nobody stands out."


def table(answerers: list[Answerer]) -> str:
    """A line for each, the least reliable last, and what follows."""
    shown = answerers[-_MOST_LISTED:]
    width = max(len("who"), *(len(one.name) for one in shown))
    lines = [f"  {'who':{width}}  answers  wrong, with 90 % interval"]
    if len(shown) < len(answerers):
        lines.append(f"  ({len(answerers) - len(shown)} more reliable ones)")
    lines += [f"  {one.name:{width}}  {one.n_answers:7}  {one.wrong}" for one in shown]
    return "\n".join([*lines, advice(answerers)])


def as_html(answerers: list[Answerer]) -> str:
    """The same for notebooks, with all of them."""
    head = "<tr><th>who</th><th>answers</th><th>wrong, with 90 % interval</th></tr>"
    body = "".join(
        f"<tr><td>{escape(one.name)}</td><td>{one.n_answers}</td><td>{one.wrong}</td></tr>"
        for one in answerers
    )
    return f"<table>{head}{body}</table><p>{escape(advice(answerers))}</p>"


def _names(some: list[Answerer]) -> str:
    names = [one.name for one in some[-_MOST_NAMED:]]
    if len(some) > _MOST_NAMED:
        return f"{', '.join(names)} and {len(some) - _MOST_NAMED} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

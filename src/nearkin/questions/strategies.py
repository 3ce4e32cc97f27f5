"""Which pairs to ask about: rules that rank the questions that are still open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from nearkin._types import Doubles, Floats, Ints, Mask, Rng
from nearkin.errors import InputError, InputTypeError
from nearkin.learners.compositions import as_metric
from nearkin.messages import mute_third_party, notice
from nearkin.pairs.closure import draw_links, draw_numbers, ends_of, keys_of, list_pairs_within
from nearkin.pairs.pairs import Pairs, check_count, check_pairs
from nearkin.pairs.supervision import check_roles
from nearkin.rows import access
from nearkin.rows.distances import centre, linked_distances, middle
from nearkin.rows.sparse import project_if_wide
from nearkin.rows.validation import refuse_non_tables

# Pairs drawn at a time, or eight times as many as asked for: a bound on time, not tuned.
_POOL = 20_000
# Known rows that others are compared with: a bound on time, not tuned.
_KNOWN = 500
# Cells at the start; one more for each row that is known, up to so many. Chosen by hand.
_CELLS, _MOST_CELLS = 20, 300
# The deviation of distances is so many times that over which "same" becomes "different". Chosen by
# hand.
_SHARPNESS = 4.0
# A batch is spread out over this many times as many of the best pairs. Chosen by hand.
_SHORTLIST = 3
# Neighbours among which likely pairs are looked for. Not tuned.
_NEIGHBOURS = 5
# Rows looked at, or twice the pairs asked for: a bound on time and memory, not tuned.
_CANDIDATES = 2000
# Groups that a question shows at most: each has a key of its own.
MOST_SHOWN = 9
# Rows among which that nearest to its group is looked for, lest it be obvious. Chosen by hand.
_DRAWN = 20
# Pairs of each kind, of all that follow from answers, that a fit is told: a bound on time.
MOST_TOLD = 10_000
# Which rows come up in questions beside groups.
Choice = Literal["random", "far", "near", "clusters"]


@dataclass(frozen=True)
class Scene:
    """Candidate rows as a metric sees them; closed pairs are :func:`keys_of` positions in ``Z``."""

    Z: Doubles  # embedding of the m candidates, around its middle
    threshold: float  # distance at which same and different are equally likely
    group: Ints  # candidates that must-links tie together share a number
    n_known: int  # groups below this number are of rows that some pair names
    differing: Ints  # keys of groups that are known to differ
    closed: Ints  # keys of pairs that are not to be asked about

    def is_open(self, pairs: Ints) -> Mask:
        """Mask of the pairs of positions (k, 2) whose answer is not known and does not follow."""
        groups = self.group[pairs]
        told = np.isin(keys_of(groups), self.differing) | np.isin(keys_of(pairs), self.closed)
        return np.asarray((groups[:, 0] != groups[:, 1]) & ~told)

    def find_ruled_out(self, groups: Ints, others: Ints) -> Mask:
        """Mask (groups, others) of the groups that differ, or that someone was unsure about."""
        both = np.stack(np.broadcast_arrays(groups[:, None], others), axis=-1)
        ruled_out = np.union1d(self.differing, keys_of(self.group[ends_of(self.closed)]))
        found = np.isin(keys_of(both.reshape(-1, 2)), ruled_out)
        return np.asarray(found.reshape(len(groups), len(others)))

    def draw_open_pairs(self, n: int, rng: Rng) -> Ints:
        """Draw n or more open pairs (k, 2) of positions in random order; all if they are few."""
        m = len(self.Z)
        total = m * (m - 1) // 2
        for size in (min(max(_POOL, 8 * n), total), total):
            numbers = draw_numbers(total, size, rng)
            pairs, _ = list_pairs_within(numbers, np.zeros(1, np.int64), np.array([m]))
            pairs = pairs[self.is_open(pairs)]
            if len(pairs) >= n:
                break
        return np.asarray(rng.permutation(pairs))


def draw_of_each_group(group: Ints, positions: Ints, most: int, rng: Rng) -> Ints:
    """Draw up to ``most`` of ``positions``, one of each group first; ``group`` is of candidates."""
    if len(positions) <= most:
        return positions
    drawn = rng.permutation(positions)
    _, first = np.unique(group[drawn], return_index=True)
    first = rng.permutation(first)
    return np.sort(np.concatenate([drawn[first], np.delete(drawn, first)])[:most])


def make_scene(
    Z: Floats, threshold: float, rows: Ints, pairs: Pairs, closed: Ints | None = None
) -> Scene:
    """Gather what is known of candidate rows: groups that must-links make, and pairs not to ask.

    ``rows`` are the candidates' row numbers in X, increasing, and Z (m, q) their embedding.
    ``pairs`` and the pairs ``closed``, not to be asked, are of rows of X; groups are joined through
    all rows, not candidates alone.
    """
    groups = pairs.groups
    found = groups.of(rows)
    left_out = Pairs(() if closed is None else closed, n_rows=pairs.n_rows).restrict(rows)
    Z = np.asarray(Z, dtype=np.float64)
    return Scene(
        centre(Z, middle(Z)),
        float(threshold),
        np.where(found >= 0, found, groups.count + np.arange(len(rows))),
        groups.count,
        groups.differing,
        keys_of(left_out.must_link),
    )


def pick_by_clusters(scene: Scene, n: int, rng: Rng) -> Ints:
    """Pick rows that stand for many whose group is in doubt, each with its likeliest group.

    Returns pairs of positions (k, 2), a row and a member of the group, k ≤ n, the best first.
    """
    known = np.flatnonzero(scene.group < scene.n_known)
    cell, middle = assign_cells(scene.Z, max(_CELLS + len(known), 2 * n), rng)
    # Where nothing is known, the middle of the largest cell is a group to begin with.
    known_rows = draw_of_each_group(scene.group, known, _KNOWN, rng)
    known_rows = known_rows if len(known_rows) else middle[[np.bincount(cell).argmax()]]
    member, chance = estimate_memberships(scene, known_rows, rng)
    new = 1 - chance.sum(axis=1)
    doubt = 1 - (chance**2).sum(axis=1) - new**2
    rows = np.union1d(middle, known_rows)
    cleared = chance[rows] * (1 - chance[rows]) * np.bincount(cell, doubt)[cell[rows], None]
    best = cleared.argmax(axis=1)
    cleared = cleared[np.arange(len(rows)), best]
    order = np.argsort(-cleared, kind="stable")[:n]
    order = order[cleared[order] > 0]
    return np.column_stack([rows[order], member[rows[order], best[order]]])


def assign_cells(Z: Doubles, count: int, rng: Rng) -> tuple[Ints, Ints]:
    """Split rows into ``count`` k-means cells, at most 300: each row's cell, each cell's middle."""
    count = max(1, min(count, _MOST_CELLS, len(Z) // 2))
    with mute_third_party():  # there may be fewer different rows than cells
        found = KMeans(count, n_init=1, max_iter=20, random_state=rng.randint(2**31)).fit(Z)
    offset = np.linalg.norm(Z - found.cluster_centers_[found.labels_], axis=1)
    order = np.lexsort((offset, found.labels_))
    _, first, cell = np.unique(found.labels_[order], return_index=True, return_inverse=True)
    return cell[np.argsort(order)], order[first]


def estimate_memberships(scene: Scene, known_rows: Ints, rng: Rng) -> tuple[Ints, Doubles]:
    """Nearest known row of each group, and the chance of being in that group, each (m, n_groups).

    ``known_rows`` are the candidates whose groups are considered. The chance is 0 for the group
    that a row is in, and for groups that are ruled out: so others, and a new one, are likelier.
    """
    known_rows = known_rows[np.argsort(scene.group[known_rows], kind="stable")]
    groups, first = np.unique(scene.group[known_rows], return_index=True)
    distances = euclidean_distances(scene.Z, scene.Z[known_rows])
    member = np.empty((len(scene.Z), len(groups)), dtype=np.int64)
    for column, (start, end) in enumerate(zip(first, [*first[1:], len(known_rows)], strict=True)):
        member[:, column] = start + distances[:, start:end].argmin(axis=1)
    # By how much the log-odds of "same" fall for a unit of distance.
    links = draw_links(len(scene.Z), rng)
    deviation = float(linked_distances(scene.Z, links).std()) if len(links) else 0.0
    sharpness = _SHARPNESS / deviation if deviation > 0 else 0.0
    odds = -sharpness * np.take_along_axis(distances, member, axis=1)
    odds[scene.group[:, None] == groups] = -np.inf
    new = chance_of_new(np.unique(scene.group[known_rows], return_counts=True)[1])
    others = np.isfinite(odds).any(axis=1)
    before = np.zeros(odds.shape)
    before[others] = (1 - new) * softmax(odds[others], axis=1)
    left = np.where(scene.find_ruled_out(scene.group, groups), 0.0, before)
    return known_rows[member], left / (new + left.sum(axis=1, keepdims=True))


def chance_of_new(sizes: Ints) -> float:
    """Chance that a row is of a group that nobody has seen (Good and Turing's estimate).

    It is the share of known rows that are alone in their group, with one row of either kind
    imagined; ``sizes`` are the numbers of known rows by group.
    """
    return float((np.count_nonzero(sizes == 1) + 1) / (sizes.sum() + 2))


def pick_spread_out(Z: Doubles, pairs: Ints, score: Doubles, n: int) -> Ints:
    """Choose n pairs of high score that are not alike, as positions (n, 2), the highest first.

    Of the best pairs, no two of which share a row where possible, three times n make a shortlist.
    The best of it is taken, then always the farthest from those taken, by midpoint and difference.
    """
    order = np.argsort(-score, kind="stable")
    shortlist, used = [], set()
    for k, (i, j) in zip(order.tolist(), pairs[order].tolist(), strict=True):
        if i not in used and j not in used:
            used |= {i, j}
            shortlist.append(k)
        if len(shortlist) == _SHORTLIST * n:
            break
    if len(shortlist) <= n:
        rest = order[~np.isin(order, shortlist)]
        return np.asarray(pairs[[*shortlist, *rest[: n - len(shortlist)]]])
    first, second = Z[pairs[shortlist].T]
    place = np.column_stack([first + second, np.abs(first - second)])
    return np.asarray(pairs[np.array(shortlist)[np.sort(pick_farthest_first(place, n))]])


def pick_farthest_first(Z: Doubles, n: int, nearest: Doubles | None = None) -> Ints:
    """Pick n rows of Z, each the farthest from those picked, by distances ``nearest`` so far."""
    nearest = np.full(len(Z), np.inf) if nearest is None else nearest.copy()
    taken: list[int] = []
    for _ in range(min(n, len(Z))):
        taken.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(Z - Z[taken[-1]], axis=1))
        nearest[taken] = -1
    return np.array(taken, dtype=np.int64)


def pick_at_random(scene: Scene, n: int, rng: Rng) -> Ints:
    """Pick any open pairs, as a control for other strategies."""
    return scene.draw_open_pairs(n, rng)[:n]


def pick_by_uncertainty(scene: Scene, n: int, rng: Rng) -> Ints:
    """Pick open pairs whose distance is nearest to the threshold."""
    pairs = scene.draw_open_pairs(n, rng)
    score = -np.abs(linked_distances(scene.Z, pairs) - scene.threshold)
    return pick_spread_out(scene.Z, pairs, score, n)


def pick_by_likeness(scene: Scene, n: int, rng: Rng) -> Ints:
    """Pick the nearest open pairs, which are likeliest the same.

    Candidates are pairs of nearest neighbours, or random ones where these are all known. O(m²) time
    and memory for m candidates, of which there are 2000 as a rule.
    """
    distances = euclidean_distances(scene.Z)
    np.fill_diagonal(distances, np.inf)
    n_near = min(_NEIGHBOURS, max(len(scene.Z) - 1, 0))
    near = np.argpartition(distances, n_near - 1, axis=1)[:, :n_near] if n_near else distances
    pairs = np.column_stack([np.repeat(np.arange(len(near)), n_near), near.ravel()])
    pairs = np.unique(np.sort(pairs.astype(np.int64), axis=1), axis=0)
    pairs = pairs[scene.is_open(pairs)] if len(pairs) else pairs
    if len(pairs) < n:
        pairs = scene.draw_open_pairs(n, rng)
    return pick_spread_out(scene.Z, pairs, -linked_distances(scene.Z, pairs), n)


def find_neighborhoods(scene: Scene) -> Ints:
    """Numbers of groups that are all known to differ from one another, the largest first."""
    unlike: defaultdict[int, set[int]] = defaultdict(set)
    for one, other in ends_of(scene.differing).tolist():
        unlike[one].add(other)
        unlike[other].add(one)
    known, size = np.unique(scene.group[scene.group < scene.n_known], return_counts=True)
    chosen: dict[int, None] = {}
    for group in known[np.argsort(-size, kind="stable")].tolist():
        if unlike[group].issuperset(chosen):
            chosen[group] = None
    return np.array(list(chosen), dtype=np.int64)


def pick_by_neighborhoods(scene: Scene, n: int, rng: Rng, choose: Choice = "far") -> Ints:
    """Pair a row of each group that is in no neighbourhood with the nearest that it may be in.

    Neighbourhoods are groups that all differ from one another. ``choose`` orders the pairs, by
    default the farthest first (min–max criterion).
    """
    neighborhoods = find_neighborhoods(scene)
    if not len(neighborhoods):
        neighborhoods = scene.group[[rng.randint(len(scene.Z))]]
    row, nearest, member, n_ruled_out = compare_with_groups(scene, neighborhoods, rng)
    order = _order_groups(scene, row, nearest, n_ruled_out, n, rng, choose)
    return np.asarray(np.column_stack([row, member])[order])


def _order_groups(
    scene: Scene, row: Ints, nearest: Doubles, n_ruled_out: Ints, n: int, rng: Rng, choose: Choice
) -> Ints:
    """Positions of up to n groups in the order to ask about them.

    The arrays are those of :func:`compare_with_groups`. A group that has differed from some
    neighbourhoods comes first, until it is in one or differs from all and is one itself; but not
    where an answer "same" is looked for ("near").
    """
    begun, fresh = np.flatnonzero(n_ruled_out), np.flatnonzero(n_ruled_out == 0)
    begun = begun[np.lexsort((nearest[begun], -n_ruled_out[begun]))][: 0 if choose == "near" else n]
    left = n - len(begun)
    if choose == "far":
        order = pick_farthest_first(scene.Z[row[fresh]], left, nearest[fresh])
    elif choose == "clusters":
        wanted = pick_by_clusters(scene, n, rng)[:, 0]
        order = np.flatnonzero(np.isin(row[fresh], wanted))
        order = order[np.argsort([np.argmax(wanted == one) for one in row[fresh[order]]])]
    else:
        order = rng.permutation(len(fresh))
        if choose == "near":
            order = order[: max(left, _DRAWN)]
            order = order[np.argsort(nearest[fresh[order]], kind="stable")]
    return np.concatenate([begun, fresh[order]])[:n]


def compare_with_groups(
    scene: Scene, neighborhoods: Ints, rng: Rng
) -> tuple[Ints, Doubles, Ints, Ints]:
    """Compare a candidate of each other group with the neighbourhoods that it may belong to.

    Returns, for each such group, the candidate's position, its distance from the nearest known row
    of these neighbourhoods, that row, and the number of neighbourhoods that are ruled out, by a
    difference or an unsure answer. Groups that differ from all are left out.
    """
    inside = np.isin(scene.group, neighborhoods)
    group, first = np.unique(scene.group[~inside], return_index=True)
    row = np.flatnonzero(~inside)[first]
    members = rng.permutation(np.flatnonzero(inside))
    _, first = np.unique(scene.group[members], return_index=True)
    members = members[np.union1d(first, np.arange(min(len(members), _KNOWN)))]
    if not len(row):
        return row, np.empty(0), row, row
    neighborhoods, of_member = np.unique(scene.group[members], return_inverse=True)
    differ = scene.find_ruled_out(group, neighborhoods)
    distance = euclidean_distances(scene.Z[row], scene.Z[members])
    distance[differ[:, of_member]] = np.inf
    place = distance.argmin(axis=1)
    left = ~differ.all(axis=1)
    nearest = distance[np.arange(len(row)), place]
    return row[left], nearest[left], members[place[left]], differ.sum(axis=1)[left]


Strategy = Callable[[Scene, int, Rng], Ints]

STRATEGIES: dict[str, Strategy] = {
    "neighborhoods": pick_by_neighborhoods,
    "consolidate": partial(pick_by_neighborhoods, choose="random"),
    "clusters": pick_by_clusters,
    "uncertainty": pick_by_uncertainty,
    "random": pick_at_random,
}


def find_strategy(name: Any) -> Strategy:
    """Look up a strategy by its name, or raise an error that lists all."""
    if not isinstance(name, str) or name not in STRATEGIES:
        raise InputError(f"strategy={name!r} is unknown: use one of {', '.join(STRATEGIES)}.")
    return STRATEGIES[name]


def pick_questions(scene: Scene, strategy: Strategy, n: int, rng: Rng) -> Ints:
    """Pick n open pairs by a strategy, and the most uncertain others where it finds too few."""
    chosen = strategy(scene, n, rng)
    chosen = chosen[scene.is_open(chosen)]
    _, first = np.unique(keys_of(chosen), return_index=True)
    chosen = chosen[np.sort(first)]
    if len(chosen) == n:
        return chosen
    asked = np.union1d(scene.closed, keys_of(chosen))
    rest = pick_by_uncertainty(replace(scene, closed=asked), n - len(chosen), rng)
    return np.concatenate([chosen, rest])


def suggest_pairs(
    metric: Any,
    X: Any,
    pairs: Pairs | None = None,
    n: int = 10,
    *,
    strategy: str = "neighborhoods",
    exclude: ArrayLike | None = None,
    random_state: Any = None,
) -> Ints:
    """Suggest pairs of rows whose answers, same or different, would teach the metric most.

    Parameters
    ----------
    metric : fitted learner
        Any of the library's: with ``transform`` and ``threshold_``; or a fitted pipeline whose
        last step is one.
    X : array, sparse matrix or frame of shape (n_rows, d)
        The rows to ask about, as the metric takes them.
    pairs : Pairs, optional
        What is known already. Neither these pairs are suggested nor what follows from them.
    n : int, default=10
        How many.
    strategy : str, default="neighborhoods"
        ``"neighborhoods"`` places one row after another, the farthest from all others first: it
        is compared with the nearest group of rows known to be alike, then with the next, until
        one answer is same or all are different. Groups grow, and every row of one says something
        about all others. ``"consolidate"`` does so with rows at random, which is better where no
        more than about 50 questions can be asked. ``"clusters"`` is for groups rather than
        distances: it asks about rows that stand for many others whose group is in doubt, each
        against the group it most likely is in. ``"uncertainty"`` asks where the learned
        distance is nearest to ``threshold_``. ``"random"`` is the control.
    exclude : array of int, shape (k, 2), optional
        More pairs that are not to be suggested, such as those that someone was unsure of.
    random_state : int, RandomState or None, default=None
        Draws the candidates.

    Returns
    -------
    int ndarray of shape (n, 2)
        Row numbers of X, the most useful pair first; fewer, with a warning, where there are not
        as many open questions.

    Notes
    -----
    Looks at 2000 rows, or 2 n where that is more: up to half of them rows that ``pairs`` names,
    one of each group first, and random ones beside them. 20 000 pairs of these rows are ranked.
    So the time hardly grows with the number of rows, and memory is that of 2000 embedded rows and
    some tens of megabytes; a hundred more where nearly everything is known, and all pairs of these
    rows are gone through.

    References
    ----------
    T. Van Craenendonck, S. Dumančić, E. Van Wolputte, H. Blockeel. COBRAS: interactive clustering
    with pairwise queries. IDA 2018.

    S. Basu, A. Banerjee, R. J. Mooney. Active semi-supervision for pairwise constrained
    clustering. SDM 2004.

    P. K. Mallapragada, R. Jin, A. K. Jain. Active query selection for semi-supervised
    clustering. ICPR 2008.

    Examples
    --------
    >>> from nearkin import KernelBeta, Pairs, suggest_pairs
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> pairs = Pairs.from_labels(y, 10, random_state=0)
    >>> metric = KernelBeta(random_state=0).fit(X, pairs=pairs)
    >>> questions = suggest_pairs(metric, X, pairs, n=5, random_state=0)
    >>> questions.shape
    (5, 2)
    """
    n = check_count(n, "n", least=1)
    rule = find_strategy(strategy)
    metric = check_metric(metric)
    n_rows, pairs, closed = check_knowledge(metric, X, pairs, exclude)
    rng = check_random_state(random_state)
    rows = draw_candidate_rows(pairs, n_rows, n, rng)
    Z = project_if_wide(metric.transform(access.take(X, rows)), rng)
    scene = make_scene(Z, metric.threshold_, rows, pairs, closed)
    found = pick_questions(scene, rule, n, rng)
    if len(found) < n:
        notice(
            f"n={n}, but only {len(found)} pairs of rows are left whose answer does not follow "
            "from what is known: all are given."
        )
    return np.asarray(rows[found])


def check_metric(metric: Any) -> Any:
    """Return a fitted learner, also that of a fitted pipeline; raise an error if there is none."""
    if isinstance(metric, type) or not hasattr(metric, "transform"):
        raise InputTypeError(
            f"metric must be a fitted learner, such as KernelBeta().fit(X, pairs=pairs), not "
            f"{metric!r:.60}"
        )
    metric = as_metric(metric)
    check_is_fitted(
        metric,
        "threshold_",
        msg="this %(name)s is not fitted, so it knows no distances yet: call fit(X, pairs=pairs) "
        "first, or use learn_actively, which starts without any pair.",
    )
    return metric


def check_knowledge(
    metric: Any, X: Any, pairs: Any, exclude: Any = None
) -> tuple[int, Pairs, Ints]:
    """Check pairs against X: return its number of rows, the pairs, and pairs not to ask (k, 2)."""
    check_roles(None, pairs)
    if not getattr(metric, "_sees_any_rows", False):
        refuse_non_tables(X)
    n_rows = int(_num_samples(X))
    if n_rows < 2:
        raise InputError(f"a pair takes two rows, but X has {n_rows}.")
    known = Pairs(n_rows=n_rows) if pairs is None else pairs
    known.check_rows(n_rows)
    closed = check_pairs(() if exclude is None else exclude, "exclude pair", n_rows)
    return n_rows, known + Pairs(n_rows=n_rows), closed


def draw_candidate_rows(pairs: Pairs, n_rows: int, n: int, rng: Rng) -> Ints:
    """Draw the rows to ask about, increasing: all, or some that pairs name and random others."""
    most = max(_CANDIDATES, 2 * n)
    if n_rows <= most:
        return np.arange(n_rows)
    order = rng.permutation(len(pairs.points))
    points, component = pairs.points[order], pairs.groups.number[order]
    _, first = np.unique(component, return_index=True)
    known = np.concatenate([points[first], np.delete(points, first)])[: most // 2]
    free = np.ones(n_rows, dtype=bool)
    free[known] = False
    others = np.flatnonzero(free)
    drawn = others[draw_numbers(len(others), most - len(known), rng)]
    return np.sort(np.concatenate([known, drawn]))


def add_inferred(pairs: Pairs, rng: Rng, most: int = MOST_TOLD) -> Pairs:
    """Add the pairs that follow, or ``most`` random ones of each kind; none if far too many do."""
    try:
        closure = pairs.closure()
    except ValueError:
        return pairs
    if max(len(closure.must_link), len(closure.cannot_link)) <= most:
        return closure
    must = rng.permutation(len(closure.must_link))[:most]
    cannot = rng.permutation(len(closure.cannot_link))[:most]
    return pairs + Pairs(
        closure.must_link[must],
        closure.cannot_link[cannot],
        must_weight=closure.must_weight[must],
        cannot_weight=closure.cannot_weight[cannot],
    )


def balance_inferred(pairs: Pairs, rng: Rng, most: int = MOST_TOLD) -> Pairs:
    """Add the pairs that follow, with weights by which large groups do not outvote small ones.

    A group of s rows has s (s − 1) / 2 must-links: these weigh as much as the s − 1 that make it, 2
    / s each. Cannot-links between two groups weigh as much together as the smaller has rows. So
    groups that few questions were about are heard all the same.
    """
    told = add_inferred(pairs, rng, most)
    groups = told.groups
    size = np.bincount(groups.number, minlength=1)
    larger = size[groups.of(told.cannot_link)].max(axis=1, initial=1)
    return Pairs(
        told.must_link,
        told.cannot_link,
        must_weight=told.must_weight * 2 / size[groups.of(told.must_link[:, 0])],
        cannot_weight=told.cannot_weight / larger,
        n_rows=told.n_rows,
    )


@dataclass(frozen=True)
class WhichQuestion:
    """Which of these is it like? A row, and rows that stand for the groups that it may be in.

    The groups shown are all known to differ from one another, so a row that is like one of them is
    unlike the others: one answer tells as much as a run of "different" and a "same" would. One that
    is like none of them is a group of its own.
    """

    row: int
    shown: Ints  # one for each group, those first that the row is likelier in


def pick_which_questions(
    scene: Scene, n: int, rng: Rng, choose: Choice, most: int = MOST_SHOWN
) -> list[WhichQuestion]:
    """Pick rows to ask about by :class:`WhichQuestion`, each beside groups that differ.

    ``choose`` says which rows come up: "random" ones, which are a fair test of the metric; those
    "far" from all that is known, which teach most; those likeliest to be in a group ("near"); or
    those that stand for many others whose group is in doubt ("clusters"). At most ``most`` groups
    are shown. There is no question while fewer than two groups differ.
    """
    neighborhoods = find_neighborhoods(scene)
    if len(neighborhoods) < 2:
        return []
    row, nearest, _, n_ruled_out = compare_with_groups(scene, neighborhoods, rng)
    rows = row[_order_groups(scene, row, nearest, n_ruled_out, n, rng, choose)]
    inside = np.flatnonzero(np.isin(scene.group, neighborhoods))
    known = draw_of_each_group(scene.group, inside, _KNOWN, rng)
    _, chance = estimate_memberships(scene, known, rng)
    stand = np.array([find_typical(scene, group) for group in np.unique(scene.group[known])])
    found = []
    for row in rows.tolist():
        likely = np.argsort(-chance[row], kind="stable")
        likely = likely[: min(np.count_nonzero(chance[row]), most)]
        if len(likely):
            found.append(WhichQuestion(row, stand[likely]))
    return found


def find_typical(scene: Scene, group: int) -> int:
    """Position of the candidate of a group that is nearest to the group's mean."""
    members = np.flatnonzero(scene.group == group)
    Z = scene.Z[members]
    return int(members[((Z - Z.mean(axis=0)) ** 2).sum(axis=1).argmin()])

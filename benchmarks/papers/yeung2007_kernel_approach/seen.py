"""What was seen, in sentences whose numbers come from the stored results."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.claims import Claim
from benchmarks.papers.yeung2007_kernel_approach.comparison import (
    BETTER,
    ENOUGH,
    RIVALS,
    WORSE,
    best_of,
    compared,
    complete_draws,
    counted,
    mean,
    results_of,
)
from benchmarks.papers.yeung2007_kernel_approach.methods import (
    AFTER_RCA,
    ALONG,
    ALONG_NORMALISED,
    ARTIFICIAL,
    BETA,
    CENTRED,
    CENTRED_CUT,
    CUT,
    DIGITS,
    LLMA_,
    MPCK,
    OWN_DIGITS,
    RCA_,
    TOGETHER,
    UCI,
    WIDE,
    A,
    Row,
)

_WORDS = ("none", "one", "two", "three", "four", "five", "six")


def _on(name: str, **methods: str) -> Any:
    """Means on a data set, by name."""

    def numbers(rows: list[Row]) -> dict[str, Any]:
        results = results_of(rows)
        return {key: mean(results, name, method) for key, method in methods.items()}

    return numbers


def _counts(ours: str) -> Any:
    """On how many UCI sets a method is significantly above and below others."""

    def numbers(rows: list[Row]) -> dict[str, Any]:
        found, results = {}, results_of(rows)
        others = {"plain": ("Euclidean",), "rca": (RCA_,), "mpck": MPCK, "llma": (LLMA_,)}
        for key, theirs in {**others, "shrunk": ("RCA, shrunk",)}.items():
            above, below = counted(results, UCI, ours, theirs)
            found[key], found[f"{key}_below"] = _WORDS[above], _WORDS[below]
        return found

    return numbers


_TELL = (
    "On the six UCI sets {name} is significantly above the Euclidean distance on {{plain}} and "
    "below on {{plain_below}}, above RCA on {{rca}} and below on {{rca_below}}, above the better "
    "MPCK-means on {{mpck}} and below on {{mpck_below}}, above LLMA on {{llma}} and below on "
    "{{llma_below}}."
)


def _told(name: str, more: str = "") -> str:
    return _TELL.format(name=name) + more


def _starts(rows: list[Row]) -> dict[str, Any]:
    """How far the two starts of MPCK-means differ."""
    results = results_of(rows)
    pairs = [(f"MPCK-{x}, as published", f"MPCK-{x}, from variances") for x in ("S", "SD")]
    names = (*ARTIFICIAL, *UCI)
    apart = [abs(mean(results, n, a) - mean(results, n, b)) for n in names for a, b in pairs]
    return {"apart": max(apart)}


def _digits(rows: list[Row]) -> dict[str, Any]:
    """Of the digits on which all methods as published have enough draws."""
    results = results_of(rows)
    names = [x for x in DIGITS if complete_draws(results, x) >= ENOUGH]
    held = [
        x
        for x in names
        if compared(results, x, best_of(results, x, (BETA, A)), best_of(results, x, RIVALS))
        != WORSE
    ]
    shown = {"rca": RCA_, "a": A, "beta": BETA, "default": "KernelA", "after": AFTER_RCA}
    shown |= {"llma": LLMA_, "along": ALONG, "normalised": ALONG_NORMALISED}
    above = {
        f"{key}_above": _WORDS[[compared(results, x, method, RCA_) for x in DIGITS].count(BETTER)]
        for key, method in (("after", AFTER_RCA), ("along", ALONG_NORMALISED))
    }
    return {
        **_three(results, DIGITS, shown),
        **above,
        "held": _WORDS[len(held)],
        "sets": _WORDS[len(names)],
        "measured": ", ".join(f"{x} ({complete_draws(results, x)} draws)" for x in names),
    }


def _three(results: Any, names: tuple[str, ...], methods: dict[str, str]) -> dict[str, str]:
    """Means of each method on three sets, as a list in words."""
    found = {}
    for key, method in methods.items():
        *first, last = (f"{mean(results, x, method):.3f}" for x in names)
        found[key] = f"{', '.join(first)} and {last}"
    return found


def _defaults(rows: list[Row]) -> dict[str, Any]:
    """KernelA and others on digits of our own."""
    results = results_of(rows)
    shown = {"a": "KernelA", "rca": RCA_, "published": A}
    signs = [compared(results, x, "KernelA", RCA_) for x in OWN_DIGITS]
    return {**_three(results, OWN_DIGITS, shown), "below": _WORDS[signs.count(WORSE)]}


SEEN: list[Claim] = [
    Claim(
        "XOR with ten pairs: KernelBeta as published {beta:.3f}, KernelA as published {a:.3f}, "
        "LLMA {llma:.3f}, RCA {rca:.3f}, as the paper's Figures 1 and 3 have it.",
        _on("xor", beta=BETA, a=A, llma=LLMA_, rca=RCA_),
    ),
    Claim(
        "Two moons with ten pairs: KernelA {a:.3f} as published, {twenty:.3f} after 20 steps with "
        "the default cut-off of eigenvalues, {wide:.3f} with a kernel of three times the γ; "
        "KernelBeta {beta:.3f} as published, {centred:.3f} centred, {calibrated:.3f} calibrated, "
        "where RCA has {rca:.3f} and MPCK-means {mpck:.3f}. "
        "Re-weighting the directions of this kernel does not part the moons.",
        _on(
            "two moons",
            a=A,
            twenty="KernelA, 20 steps",
            wide=WIDE,
            beta=BETA,
            centred=CENTRED,
            calibrated="KernelBeta",
            rca=RCA_,
            mpck=MPCK[0],
        ),
    ),
    Claim(_told("KernelA as published"), _counts(A)),
    Claim(
        _told(
            "KernelBeta as published",
            " What the paper concludes of kernel-β is not reproduced by what its text says.",
        ),
        _counts(BETA),
    ),
    Claim(
        _told("KernelBeta as published, but for eigenvalues below 0.1 of the largest,"),
        _counts(CUT),
    ),
    Claim(_told("KernelBeta with the paper's weights and a centred matrix"), _counts(CENTRED)),
    Claim(
        _told("KernelBeta with the paper's weights, a centred matrix and a cut at 0.1"),
        _counts(CENTRED_CUT),
    ),
    Claim(_told("calibrated KernelBeta"), _counts("KernelBeta")),
    Claim(
        _told(
            "KernelA with its defaults",
            " RCA with our shrinkage is a much stronger rival: KernelA is above it on {shrunk} and "
            "below on {shrunk_below}.",
        ),
        _counts("KernelA"),
    ),
    Claim(
        _told("`KernelA(kernel='linear')` on what `KernelBeta` gives"),
        _counts("KernelBeta, then KernelA"),
    ),
    Claim(
        _told("KernelA with weights that are learned beside it until the joint objective rests"),
        _counts(TOGETHER),
    ),
    Claim(
        "MPCK-means: on the artificial and the UCI sets, whose columns have one scale, the two "
        "starts of its metric differ by at most {apart:.3f} in the mean.",
        _starts,
    ),
    Claim(
        "Table III, with every method as published: {measured}. On {held} of {sets} no rival is "
        "significantly above the better of KernelBeta and KernelA. KernelA as published has {a}, "
        "with its defaults {default}, on what RCA, shrunk, gives {after} (above RCA on "
        "{after_above}), KernelBeta {beta}, RCA {rca}, LLMA {llma}; GeometryAware {along}, and "
        "with `normalized=True` {normalised} (above RCA on {along_above}).",
        _digits,
    ),
    Claim(
        "With its defaults, on ten draws of digits that are not the paper's (01, 358, 4679), "
        "KernelA has {a} (as published {published}) and RCA {rca}: significantly below RCA on "
        "{below} of the three.",
        _defaults,
    ),
    Claim(
        "MPCK-S on the digits 0 and 1, whose pixels at the edge hardly vary: {identity:.3f} from "
        "the identity, {variances:.3f} from inverse variances.",
        _on("01", identity=MPCK[0], variances="MPCK-S, from variances"),
    ),
]

ON_SITE: list[Claim] = [
    Claim(
        "`KernelA`: significantly above k-means in input space on {plain} of six UCI sets",
        _counts("KernelA"),
    )
]

"""The iteration of Newton and Schulz: eigenvalues go to one, and local metrics with them."""

import numpy as np
from matplotlib import pyplot as plt

from nearkin.solvers.class_gaussians import fit_class_models
from nearkin.solvers.local_metrics import (
    FLOOR,
    bias_matrices,
    local_metrics,
    log_determinants,
    sign_iteration_scales,
)

least = 1e-8
scales = sign_iteration_scales(least)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.9))


def stepped(s, a):
    return a / 2 * s * (3 - (a * s) ** 2)


bound = [least]
for a in scales:
    bound.append(stepped(bound[-1], a))
for start in 10.0 ** -np.arange(0, 8, 1.0):
    sizes = [start]
    for a in scales:
        sizes.append(stepped(sizes[-1], a))
    left.semilogy(sizes, color="C0", linewidth=1)
left.semilogy(bound, "--", color="black")
left.set(xlabel="step", ylabel="size of an eigenvalue")

rng = np.random.default_rng(0)
classes = np.repeat(np.arange(3), 200)
X = rng.standard_normal((600, 8)) @ rng.standard_normal((8, 8))
X += rng.standard_normal((3, 8))[classes]
Phi = bias_matrices(X[::3], fit_class_models(X, classes))
exact = local_metrics(Phi)
scaled = Phi / np.linalg.norm(Phi, axis=(1, 2), keepdims=True)
identity, S, errors = np.eye(8), scaled, []
for a in scales:
    S = a / 2 * (3 * S - a**2 * S @ S @ S)
    rank, balance = (S * S).sum(axis=(1, 2)), np.trace(S, axis1=1, axis2=2)
    M = (scaled @ S + FLOOR / 8**0.5 * identity) @ (
        rank[:, None, None] * identity + balance[:, None, None] * S
    )
    M /= np.exp(log_determinants(M) / 8)[:, None, None]
    errors.append(np.linalg.norm(M - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2)))
errors = np.array(errors)
steps = np.arange(1, len(scales) + 1)
right.semilogy(steps, errors.max(axis=1), "o-", markersize=3, label="worst row")
right.semilogy(steps, np.median(errors, axis=1), "s-", markersize=3, label="median row")
right.set(xlabel="step", ylabel="relative error of local metrics")
right.legend()

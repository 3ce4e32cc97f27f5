"""Slow, obvious versions of what nearkin computes, in the papers' notation."""

from itertools import combinations

import numpy as np
from scipy.linalg import fractional_matrix_power, sqrtm

EPSILON = 1e-3  # conditioning of the local weights


def kernel_value(name, x, y, gamma=1.0, degree=3, coef0=1):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if name == "rbf":
        return np.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
    if name == "laplacian":
        return np.exp(-gamma * sum(abs(a - b) for a, b in zip(x, y, strict=True)))
    inner = sum(a * b for a, b in zip(x, y, strict=True))
    if name == "poly":
        return (gamma * inner + coef0) ** degree
    if name == "cosine":
        lengths = np.sqrt((x**2).sum()) * np.sqrt((y**2).sum())
        return inner / lengths if lengths > 0 else 0.0
    if name == "linear":
        return inner
    raise ValueError(name)


def kernel_matrix(name, A, B, **parameters):
    K = np.empty((len(A), len(B)))
    for i, x in enumerate(A):
        for j, y in enumerate(B):
            K[i, j] = kernel_value(name, x, y, **parameters)
    return K


def centering(n):
    """H = I − 11ᵀ/n."""
    return np.eye(n) - np.ones((n, n)) / n


def center(K):
    H = centering(len(K))
    return H @ K @ H


def center_new(K_new, K):
    """Inner products of φ(x) − mean with φ(x_j) − mean, the mean over the training rows."""
    n = len(K)
    ones = np.ones((len(K_new), n)) / n
    return (K_new - ones @ K) @ centering(n)


def mean_squared_distance(X):
    return np.mean([((x - y) ** 2).sum() for x, y in combinations(np.asarray(X, float), 2)])


def half_squared_distance(k_xx, k_yy, k_xy):
    return (k_xx + k_yy) / 2 - k_xy


def local_weights(k_xx, k_x, K, n_neighbors):
    """LLE weights of one point over m landmarks, from kernel values.

    min wᵀGw + ε Σ G_jj w_j² s.t. 1ᵀw = 1 over the nearest landmarks in feature space, with
    G_jk = k(x,x) + k(x_j,x_k) − k(x,x_j) − k(x,x_k), by the Karush–Kuhn–Tucker system.
    """
    m = len(K)
    distances = [half_squared_distance(k_xx, K[j, j], k_x[j]) for j in range(m)]
    nearest = np.argsort(distances, kind="stable")[:n_neighbors]
    k = len(nearest)
    G = np.empty((k, k))
    for a, i in enumerate(nearest):
        for b, j in enumerate(nearest):
            G[a, b] = k_xx + K[i, j] - k_x[i] - k_x[j]
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = 2 * (G + EPSILON * np.diag(np.diag(G)))
    system[:k, k] = system[k, :k] = 1
    solution = np.linalg.solve(system, np.r_[np.zeros(k), 1.0])
    w = np.zeros(m)
    w[nearest] = solution[:k]
    return w


def local_weight_matrix(name, X, landmarks, n_neighbors, **parameters):
    K = kernel_matrix(name, landmarks, landmarks, **parameters)
    k_X = kernel_matrix(name, X, landmarks, **parameters)
    own = [kernel_value(name, x, x, **parameters) for x in X]
    return np.array([local_weights(o, k, K, n_neighbors) for o, k in zip(own, k_X, strict=True)])


def nystroem_weights(K_new, K, eigenvalues, V):
    """V diag(1/μ) Vᵀ k(x) for every row of K_new (n_new × m)."""
    return center_new(K_new, K) @ V @ np.diag(1 / eigenvalues) @ V.T


def mean_squared_difference(V, links, weights=None):
    """D_r = weighted mean over the links of (v_r[i] − v_r[j])²."""
    weights = np.ones(len(links)) if weights is None else weights
    total = np.zeros(V.shape[1])
    for (i, j), weight in zip(links, weights, strict=True):
        total += weight * (V[i] - V[j]) ** 2
    return total / np.sum(weights)


def eq4_beta(D, c):
    """β_r = c (1/D_r) / Σ_s (1/D_s)."""
    return np.array([c * (1 / D_r) / sum(1 / D_s for D_s in D) for D_r in D])


def calibrated_beta(D_must, k_must, D_cannot, k_cannot, random_spread, eigenvalues, prior):
    gain = []
    for D_S, D_D in zip(D_must, D_cannot, strict=True):
        E_S = (k_must * D_S / random_spread + prior) / (k_must + prior)
        E_D = (k_cannot * D_D / random_spread + prior) / (k_cannot + prior)
        gain.append(E_D / E_S)
    return np.sqrt(eigenvalues) * np.array(gain) / np.mean(gain)


def pairs_of_labels(y):
    """Every must-link and every cannot-link that labels imply; negative means unknown."""
    must, cannot = [], []
    for i, j in combinations(range(len(y)), 2):
        if y[i] >= 0 and y[j] >= 0:
            (must if y[i] == y[j] else cannot).append((i, j))
    return must, cannot


def separability(Z, y):
    """Mean distance between classes over mean distance within classes (eq. 17)."""
    within, between = [], []
    for i, j in combinations(range(len(Z)), 2):
        distance = np.sqrt(((np.asarray(Z[i]) - np.asarray(Z[j])) ** 2).sum())
        (within if y[i] == y[j] else between).append(distance)
    return np.mean(between) / np.mean(within)


def balanced_rand(labels_true, labels_pred):
    right = {True: [], False: []}
    for i, j in combinations(range(len(labels_true)), 2):
        same = bool(labels_true[i] == labels_true[j])
        right[same].append(same == bool(labels_pred[i] == labels_pred[j]))
    return np.mean([np.mean(kind) for kind in right.values() if kind])


def pair_auc(same, different, same_weight=None, different_weight=None):
    """Probability that a same pair is closer than a different pair, ties counting one half."""
    same_weight = np.ones(len(same)) if same_weight is None else same_weight
    different_weight = np.ones(len(different)) if different_weight is None else different_weight
    won = total = 0.0
    for d_same, w_same in zip(same, same_weight, strict=True):
        for d_different, w_different in zip(different, different_weight, strict=True):
            weight = w_same * w_different
            total += weight
            won += weight * (1.0 if d_same < d_different else 0.5 if d_same == d_different else 0.0)
    return won / total


def mean_of_right_answers(threshold, same, different):
    return (np.mean(np.asarray(same) <= threshold) + np.mean(np.asarray(different) > threshold)) / 2


def rca_covariance(X, chunklet):
    """C = 1/p Σ_j Σ_{i∈j} (x_i − m_j)(x_i − m_j)ᵀ."""
    C = np.zeros((X.shape[1], X.shape[1]))
    for j in set(chunklet):
        members = X[np.asarray(chunklet) == j]
        for x in members:
            C += np.outer(x - members.mean(axis=0), x - members.mean(axis=0))
    return C / len(X)


def farthest_rows(distances, n_chosen, start):
    """Greedy: the row with the largest distance to the rows chosen so far, again and again."""
    chosen = list(start)
    while len(chosen) < n_chosen:
        gaps = [
            -1.0 if i in chosen else min(distances[i, j] for j in chosen)
            for i in range(len(distances))
        ]
        chosen.append(int(np.argmax(gaps)))
    return sorted(chosen)


def ridge_leverage(K, total):
    """diag K (K + λI)⁻¹ with λ such that it sums to ``total``, by bisection."""
    low, high = 1e-12, 1e12
    for _ in range(200):
        ridge = np.sqrt(low * high)
        scores = np.diag(K @ np.linalg.inv(K + ridge * np.eye(len(K))))
        low, high = (ridge, high) if scores.sum() > total else (low, ridge)
    return scores


def kernel_a(K, pairs, *, regularization, window, n_iter, A=None):
    """The published update A ← P⁺ Q(A) A from A = I; the objective before and after each step.

    `K` is centred. Or from a rectangular A of shape (n, m), with K that of m landmarks. Returns the
    learned kernel matrix A K Aᵀ and the objective's values.
    """
    A = np.eye(len(K)) if A is None else A
    n = len(A)

    def distances(K):
        squared = np.diag(K)[:, None] + np.diag(K) - 2 * K
        return np.sqrt(np.maximum(squared, 0))

    def laplacian(W):
        return np.diag(W.sum(axis=1)) - W

    d = distances(A @ K @ A.T)
    mean_squared = (d**2).sum() / (n * (n - 1))
    N = np.exp(-(d**2) / (window * mean_squared))
    np.fill_diagonal(N, 0)
    S = np.zeros((n, n))
    for (i, j), weight in zip(pairs.must_link, pairs.must_weight, strict=True):
        S[i, j] = S[j, i] = weight
    P = laplacian(S + regularization * N)
    # The pseudo-inverse, without a cut-off that would take weak links between clusters for zero.
    ones = np.full((n, n), 1 / n)
    pseudo_inverse = np.linalg.inv(P + ones) - ones
    values = []
    for step in range(n_iter + 1):
        learned = distances(A @ K @ A.T)
        held = regularization * N * (learned - d) ** 2
        values.append(((S * learned**2).sum() + held.sum()) / 2)
        if step < n_iter:
            ratio = np.divide(d, learned, out=np.zeros_like(d), where=learned > 0)
            A = pseudo_inverse @ laplacian(regularization * N * ratio) @ A
    return A @ K @ A.T, np.array(values)


def llma(X, pairs, *, regularization, window, locality, n_iter, inertia=0.0):
    """B ← (ΠᵀPΠ)⁺ Πᵀ (Q(Y) Y − P X) with Y = X + Π B from B = 0, all matrices n×n.

    Must-links only. `inertia` adds ε I to the system and ε B to its right side, with ε that share
    of the mean over anchors a of Σ_i P_ii Π_ia². Returns B, Y and the objective before and after
    each step.
    """
    X = X - X.mean(axis=0)
    n = len(X)
    anchors = np.unique(pairs.must_link)

    def distances(Y):
        return np.array([[np.linalg.norm(a - b) for b in Y] for a in Y])

    def laplacian(W):
        return np.diag(W.sum(axis=1)) - W

    d = distances(X)
    mean_squared = (d**2).sum() / (n * (n - 1))
    Pi = np.exp(-(d[:, anchors] ** 2) / (locality * mean_squared))
    N = np.exp(-(d**2) / (window * mean_squared))
    np.fill_diagonal(N, 0)
    S = np.zeros((n, n))
    for (i, j), weight in zip(pairs.must_link, pairs.must_weight, strict=True):
        S[i, j] = S[j, i] = weight
    P = laplacian(S + regularization * N)
    system = Pi.T @ P @ Pi
    epsilon = inertia * np.trace(Pi.T @ np.diag(np.diag(P)) @ Pi) / len(anchors)
    inverse = np.linalg.pinv(system + epsilon * np.eye(len(anchors)))
    B = np.zeros((len(anchors), X.shape[1]))
    values = []
    for step in range(n_iter + 1):
        Y = X + Pi @ B
        learned = distances(Y)
        held = regularization * N * (learned - d) ** 2
        values.append(((S * learned**2).sum() + held.sum()) / 2)
        if step < n_iter:
            ratio = np.divide(d, learned, out=np.zeros_like(d), where=learned > 0)
            Q = laplacian(regularization * N * ratio)
            B = inverse @ (Pi.T @ (Q @ Y - P @ X) + epsilon * B)
    return B, Y, np.array(values)


def itml(Z, sign, weight, B0, upper, lower, *, slack, orders):
    """Cyclic projections of Davis et al. (2007), one pair after another in the given orders.

    `Z` are the differences, `orders` lists the order of each sweep. The step length is that of
    the authors' program; for a slack of 1 it is the printed one. Returns B, λ and ξ.
    """
    B = np.array(B0, dtype=float)
    duals = [0.0] * len(Z)
    slacks = [upper if delta > 0 else lower for delta in sign]
    for order in orders:
        for c in order:
            z, delta, gamma = Z[c], sign[c], slack * weight[c]
            p = z @ B @ z
            alpha = min(duals[c], delta * gamma / (gamma + 1) * (1 / p - 1 / slacks[c]))
            beta = delta * alpha / (1 - delta * alpha * p)
            slacks[c] = gamma * slacks[c] / (gamma + delta * alpha * slacks[c])
            duals[c] -= alpha
            B = B + beta * np.outer(B @ z, B @ z)
    return B, np.array(duals), np.array(slacks)


def itml_as_printed(Z, sign, B0, upper, lower, *, slack, n_sweeps):
    """Algorithm 1 of Davis et al. (2007), to the letter; its B only."""
    A = np.array(B0, dtype=float)
    duals = np.zeros(len(Z))
    slacks = np.where(np.asarray(sign) > 0, upper, lower).astype(float)
    for _ in range(n_sweeps):
        for c, (z, delta) in enumerate(zip(Z, sign, strict=True)):
            p = z @ A @ z
            alpha = min(duals[c], delta / 2 * (1 / p - slack / slacks[c]))
            beta = delta * alpha / (1 - delta * alpha * p)
            slacks[c] = slack * slacks[c] / (slack + delta * alpha * slacks[c])
            duals[c] -= alpha
            A = A + beta * A @ np.outer(z, z) @ A
    return A


def gmml(X, pairs, *, t, prior_pairs):
    """S⁻¹ #ₜ D, both beside imagined pairs whose spread is that of random ones."""
    n, d = X.shape
    C = sum(np.outer(x, x) for x in X - X.mean(axis=0)) / n
    C = (n * C + d * np.trace(C) / d * np.eye(d)) / (n + d)
    spreads = []
    for links, weight in (
        (pairs.must_link, pairs.must_weight),
        (pairs.cannot_link, pairs.cannot_weight),
    ):
        total = prior_pairs * 2 * C
        for (i, j), w in zip(links, weight, strict=True):
            total = total + w * np.outer(X[i] - X[j], X[i] - X[j])
        spreads.append(total / (prior_pairs + sum(weight)) / (2 * np.trace(C) / d))
    S, D = spreads
    return weighted_geometric_mean(np.linalg.inv(S), D, t)


def weighted_geometric_mean(A, B, t):
    """A #ₜ B = A^½ (A^−½ B A^−½)^t A^½."""
    root = sqrtm(A)
    inverse = np.linalg.inv(root)
    return root @ fractional_matrix_power(inverse @ B @ inverse, t) @ root


def cyclic_projections_to_order(diagonal, n_rounds=20000):
    """Algorithm 1 of Lu et al. (2009), FindAlpha: decreasing weights by cyclic projections.

    Each projection gives two neighbours out of order their mean, and takes it back as far as its
    dual variable allows when others have moved.
    """
    alpha = list(map(float, diagonal))
    nu = [0.0] * len(alpha)
    for _ in range(n_rounds):
        largest = 0.0
        for i in range(len(alpha) - 1):
            c = min(nu[i], (alpha[i] - alpha[i + 1]) / 2)
            nu[i] -= c
            alpha[i] -= c
            alpha[i + 1] += c
            largest = max(largest, abs(c))
        if largest < 1e-13 * max(alpha):
            break
    return alpha


def gaussian_density(x, mean, covariance):
    difference = x - mean
    exponent = -difference @ np.linalg.inv(covariance) @ difference / 2
    return np.exp(exponent) / np.sqrt(np.linalg.det(2 * np.pi * covariance))


def bias_matrix(x, means, covariances):
    """Φ = Σ_c ∇∇p_c (Σ_{c'≠c} p_{c'}² − p_c Σ_{c'≠c} p_{c'}), eqs. 16 and 17 of Shi et al."""
    p = [gaussian_density(x, m, S) for m, S in zip(means, covariances, strict=True)]
    Phi = np.zeros((len(x), len(x)))
    for c, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        inverse = np.linalg.inv(covariance)
        u = inverse @ (x - mean)
        hessian = p[c] * (np.outer(u, u) - inverse)
        others = [p[i] for i in range(len(p)) if i != c]
        Phi += hessian * (sum(q**2 for q in others) - p[c] * sum(others))
    return Phi


def local_metric(Phi, floor=0.0):
    """Eq. 8 for Φ + ε sign Φ, one eigenvalue after another; ε = floor × root mean square."""
    values, U = np.linalg.eigh(Phi)
    epsilon = floor * np.sqrt(np.mean(values**2))
    n_positive = sum(value > 0 for value in values)
    n_negative = sum(value < 0 for value in values)
    M = np.zeros_like(Phi)
    for value, u in zip(values, U.T, strict=True):
        count = n_positive if value > 0 else n_negative
        M += count * (abs(value) + epsilon) * np.outer(u, u)
    return M / np.linalg.det(M) ** (1 / len(M))


def groups_within(Z, radius):
    """Groups of rows that steps no longer than ``radius`` connect, by plain union-find."""
    n = len(Z)
    root = list(range(n))

    def find(i):
        while root[i] != i:
            i = root[i]
        return i

    for i in range(n):
        for j in range(i):
            step = np.sqrt(((Z[i].astype(np.float64) - Z[j]) ** 2).sum()).astype(Z.dtype)
            if step <= radius:
                root[find(i)] = find(j)
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(find(i), len(numbers)) for i in range(n)])

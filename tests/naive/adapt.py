"""ADAPT written straight from the paper: loops, sums as printed, generic solvers."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize

from tests.naive.proximal import penalty


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def entropy(q):
    return -sum(p * math.log(p) for p in (q, 1 - q) if p > 0)


def opt1_value(q, gate, cheap_loss, existing_loss):
    """The objective of (OPT1), with A and B as the paper writes them."""
    total = 0.0
    for qi, g, l1, l0 in zip(q, gate, cheap_loss, existing_loss, strict=True):
        A, B = l1 + softplus(g), l0 + softplus(-g)
        total += (1 - qi) * A + qi * B - entropy(qi)
    return total / len(q)


def opt1(gate, cheap_loss, existing_loss, p_full):
    """(OPT1) by a generic constrained solver."""
    n = len(gate)
    A = np.array([l1 + softplus(g) for l1, g in zip(cheap_loss, gate, strict=True)])
    B = np.array([l0 + softplus(-g) for l0, g in zip(existing_loss, gate, strict=True)])

    def slope(q):
        return (B - A + np.log(q) - np.log(1 - q)) / n

    found = minimize(
        opt1_value, np.full(n, min(p_full, 0.5) * 0.9), args=(gate, cheap_loss, existing_loss),
        jac=lambda q, *_: slope(q), method="SLSQP", bounds=[(1e-9, 1 - 1e-9)] * n,
        constraints=[{"type": "ineq", "fun": lambda q: p_full - np.mean(q), "jac": lambda q: -np.ones(n) / n}],
        options={"ftol": 1e-15, "maxiter": 2000},
    )  # fmt: skip
    return found.x


def lstsq_log_odds(gate, slope, kappa):
    """Minimise sigmoid(s) slope + kappa (s - gate)^2 on [-12, 12] by a fine grid."""
    s = np.linspace(-12, 12, 480_001)
    return float(s[np.argmin(slope / (1 + np.exp(-s)) + kappa * (s - gate) ** 2)])


def class_loss(scores, code):
    """Log loss of log-odds (one score) or logits."""
    if len(scores) == 1:
        return softplus(-scores[0] if code == 1 else scores[0])
    top = max(scores)
    return top + math.log(sum(math.exp(s - top) for s in scores)) - scores[code]


def opt2_value(W, b, Z, codes, q, log_odds, kappa, own, members, fee):
    """The objective of (OPT2): kappa = 0 is the Kullback-Leibler distance."""
    total = 0.0
    for z, code, qi, s in zip(Z, codes, q, log_odds, strict=True):
        scores = [b[k] + sum(z[a] * W[a][k] for a in range(len(z))) for k in range(len(b))]
        g = scores[0]
        total += (1 - qi) * class_loss(scores[1:], code)
        total += kappa * (s - g) ** 2 if kappa else (1 - qi) * softplus(g) + qi * softplus(-g)
    return total / len(Z) + penalty(W, own, members, fee)


def opt2(Z, codes, n_cheap, q, log_odds, kappa, own, members, fee, smooth=1e-5):
    """(OPT2) by a quasi-Newton method on norms rounded off at zero; return its minimum."""
    n, d = Z.shape
    k = 1 + n_cheap

    def value(x):
        W, b = x[: d * k].reshape(d, k), x[d * k :]
        scores = Z @ W + b
        g, f = scores[:, 0], scores[:, 1:]
        if n_cheap == 1:
            margin = np.where(codes == 1, f[:, 0], -f[:, 0])
            loss = np.logaddexp(0, -margin)
        else:
            loss = np.logaddexp.reduce(f, axis=1) - f[np.arange(n), codes]
        gap = kappa * (log_odds - g) ** 2 if kappa else np.logaddexp(0, g) - q * g
        total = np.mean((1 - q) * loss + gap)
        total += np.sum(own * np.sqrt(np.sum(W * W, axis=1) + smooth**2))
        for j, price in enumerate(fee):
            total += price * np.sqrt(np.sum(W[members[:, j]] ** 2) + smooth**2)
        return total

    found = minimize(
        value, np.zeros((d + 1) * k), method="BFGS", options={"gtol": 1e-9, "maxiter": 3000}
    )
    return found.fun

"""How mixed a set of rows is, from the weight of each class in it.

A budgeted tree needs an *admissible* impurity: zero on pure sets, and monotone and supermodular in
the set of rows. Threshold-Pairs, Powers and Polynomials are; entropy and Gini are not, and serve as
the splits of ordinary forests. An impurity is a small integer code inside one compiled function.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from worthwhile.core.compile import kernel

PAIRS, POWERS, POLYNOMIAL, ENTROPY, GINI = range(5)

MINIMAX, EXPECTED = 0, 1
"""A split is judged by its worse side, or by the mean of its sides."""


@dataclass(frozen=True, eq=False)
class Impurity:
    """An impurity with its numbers, and how sides are put together.

    Attributes
    ----------
    kind : int
        PAIRS, POWERS, POLYNOMIAL, ENTROPY or GINI.
    knob : float
        The threshold alpha of PAIRS, the exponent of POWERS.
    weights : float64 (m,)
        Weights of the terms of POLYNOMIAL.
    exponents : float64 (m, classes)
        Exponents of its terms.
    criterion : int
        MINIMAX or EXPECTED.

    Examples
    --------
    >>> Impurity(PAIRS).of([3.0, 2.0, 1.0])
    11.0
    """

    kind: int
    knob: float = 0.0
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    exponents: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    criterion: int = MINIMAX

    @property
    def flat(self):
        """The same as a tuple for kernels."""
        return (
            np.int64(self.kind), np.float64(self.knob), self.weights, self.exponents,
            np.int64(self.criterion),
        )  # fmt: skip

    def of(self, counts):
        """Impurity of one vector of class weights."""
        return float(evaluate(self.flat, np.ascontiguousarray(counts, dtype=np.float64)))


@kernel()
def _pairs(alpha, counts):
    """Sum over pairs i < j of [[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+ (eq. 11, halved)."""
    found = 0.0
    for i in range(counts.shape[0]):
        a = counts[i] - alpha
        if a <= 0.0:
            continue
        for j in range(i + 1, counts.shape[0]):
            b = counts[j] - alpha
            if b > 0.0 and a * b > alpha * alpha:
                found += a * b - alpha * alpha
    return found


@kernel()
def _polynomial(weights, exponents, counts):
    """Sum of weighted products of powers of the class weights."""
    found = 0.0
    for m in range(weights.shape[0]):
        term = weights[m]
        for k in range(counts.shape[0]):
            if exponents[m, k] > 0.0:
                term *= counts[k] ** exponents[m, k]
        found += term
    return found


@kernel(
    "float64(Tuple((int64, float64, float64[::1], float64[:,::1], int64)), float64[::1])",
)
def evaluate(impurity, counts):
    """Impurity of class weights (K,); entropy and Gini are per unit of weight."""
    kind, knob, weights, exponents, _ = impurity
    total = largest = squares = 0.0
    for k in range(counts.shape[0]):
        total += counts[k]
        squares += counts[k] * counts[k]
        largest = max(largest, counts[k])
    if largest == total:
        return 0.0
    if kind == PAIRS:
        return 0.5 * (total * total - squares) if knob == 0.0 else _pairs(knob, counts)
    if kind == POLYNOMIAL:
        return _polynomial(weights, exponents, counts)
    if kind == GINI:
        return 1.0 - squares / (total * total)
    found = total**knob if kind == POWERS else 0.0
    for k in range(counts.shape[0]):
        if counts[k] <= 0.0:
            continue
        if kind == POWERS:
            found -= counts[k] ** knob
        else:
            found -= counts[k] / total * np.log(counts[k] / total)
    return max(found, 0.0)


@kernel(lean=True)
def after_split(impurity, left, counts, right):
    """What is left of the impurity: of the worse side, or the mean over both. ``right`` is scratch."""
    kind, knob, _, _, criterion = impurity
    left_total = right_total = 0.0
    if kind == PAIRS and knob == 0.0:  # the common case: both sides in one loop
        left_squares = right_squares = 0.0
        for k in range(counts.shape[0]):
            a, b = left[k], counts[k] - left[k]
            left_total += a
            right_total += b
            left_squares += a * a
            right_squares += b * b
        on_left = 0.5 * (left_total * left_total - left_squares)
        on_right = 0.5 * (right_total * right_total - right_squares)
    else:
        for k in range(counts.shape[0]):
            right[k] = counts[k] - left[k]
            left_total += left[k]
            right_total += right[k]
        on_left, on_right = evaluate(impurity, left), evaluate(impurity, right)
    if criterion == MINIMAX:
        return max(on_left, on_right)
    return (left_total * on_left + right_total * on_right) / (left_total + right_total)


@kernel(
    "void(Tuple((int64, float64, float64[::1], float64[:,::1], int64)), float64[:,::1], float64[::1])"
)
def evaluate_rows(impurity, counts, found):
    """Impurity of every row of class weights (m, K)."""
    for i in range(counts.shape[0]):
        found[i] = evaluate(impurity, counts[i])

"""Two ways to know what each feature would add to a least-squares fit; they choose alike.

An engine keeps, for every feature, ``square`` (its squared length after what was taken is projected
out) and ``cross`` (its product with the targets after the same projection), so that taking feature
a would raise the explained sum of squares by ``|cross[a]|**2 / square[a]``: eq. 11 of the ASTC
paper, summed over the targets. Prices are none of its business.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

COLLINEAR = 1e-9
"""What is left of a feature below this share of its square counts as nothing."""

REFRESH = 32
"""Steps after which the running subtractions are replaced by one fresh sum."""


class MomentsEngine:
    """Pivoted Cholesky of the centred Gram; never touches the rows.

    Parameters
    ----------
    gram : ndarray (d, d), or a callable that returns the rows of the Gram (k, d) for k features
    square, cross, y_square : as in :class:`worthwhile.core.linear.moments.Centred`
    scale : ndarray (d,), the size that rounding errors of ``square`` are relative to
    """

    def __init__(self, gram: np.ndarray | Callable, square, cross, y_square, scale):
        self._gram = gram
        self._start_square, self._start_cross = square, cross
        self.square, self.cross = square.copy(), cross.copy()
        self.total = float(np.add.reduce(y_square))
        self.floor = COLLINEAR * np.maximum(scale, square)
        self.taken: list[int] = []
        self._factor = np.zeros((8, square.shape[0]))
        self._projected = np.zeros((8, cross.shape[1]))
        self._known: dict[int, np.ndarray] = {}

    def _row(self, a, likely):
        if not self.on_demand:
            return self._gram[a]
        if a not in self._known:
            batch = [a] + [int(b) for b in likely if b != a and int(b) not in self._known]
            for b, row in zip(batch, self._gram(np.array(batch)), strict=True):
                self._known[b] = row
        return self._known[a]

    @property
    def on_demand(self):
        """Whether rows of the Gram are computed when they are asked for."""
        return not isinstance(self._gram, np.ndarray)

    def prepare(self, features):
        """Fetch the rows of several features at once, where rows are computed on demand."""
        if not self.on_demand:
            return
        missing = [int(b) for b in features if int(b) not in self._known]
        if missing:
            for b, row in zip(missing, self._gram(np.array(missing)), strict=True):
                self._known[b] = row

    def take(self, a, likely=()):
        """Project feature ``a`` out of every other; ``likely`` are the next best candidates."""
        j = len(self.taken)
        if j == self._factor.shape[0]:
            self._factor = np.vstack([self._factor, np.zeros_like(self._factor)])
            self._projected = np.vstack([self._projected, np.zeros_like(self._projected)])
        row, V = self._row(a, likely), self._factor[:j]
        root = np.sqrt(self.square[a])
        v = (row - V.T @ V[:, a]) / root
        # What is already taken is orthogonal by construction; rounding must not say otherwise.
        v[self.taken] = 0.0
        v[a] = root
        u = self.cross[a] / root
        self._factor[j], self._projected[j] = v, u
        self.taken.append(a)
        if (j + 1) % REFRESH:
            self.square -= v * v
            self.cross -= np.outer(v, u)
        else:
            V, U = self._factor[: j + 1], self._projected[: j + 1]
            self.square = self._start_square - np.add.reduce(V * V, axis=0)
            self.cross = self._start_cross - V.T @ U
        self.square[a] = 0.0

    def take_together(self, features):
        """Start with all of ``features`` in one factorisation.

        False, and nothing done, if they are collinear or something was taken before.
        """
        if self.taken or not len(features):
            return False
        rows = np.array([self._row(int(a), ()) for a in features])
        try:
            lower = np.linalg.cholesky(rows[:, features])
        except np.linalg.LinAlgError:
            return False
        if (np.diagonal(lower) ** 2 <= self.floor[features]).any():
            return False
        j = len(features)
        d, m = self._start_cross.shape
        V, U = np.zeros((j + 8, d)), np.zeros((j + 8, m))
        rest = np.ones(d, dtype=bool)
        rest[features] = False
        known = np.hstack([rows[:, rest], self._start_cross[features]])
        both = np.linalg.solve(lower, known)
        V[:j, rest], U[:j] = both[:, : known.shape[1] - m], both[:, known.shape[1] - m :]
        V[:j, features] = lower.T
        self._factor, self._projected = V, U
        V, U = V[:j], U[:j]
        self.square = self._start_square - np.add.reduce(V * V, axis=0)
        self.cross = self._start_cross - V.T @ U
        self.square[features] = 0.0
        self.taken = [int(a) for a in features]
        return True

    def block(self, members):
        """Residual Gram and cross products of a few features."""
        V = self._factor[: len(self.taken)][:, members]
        return self._gram[np.ix_(members, members)] - V.T @ V, self.cross[members]

    def projected(self):
        """Targets in the orthonormal basis of what was taken: ndarray (j, m)."""
        return self._projected[: len(self.taken)]

    def pivots(self):
        """Squared length of each taken feature after the ones before it: ndarray (j,)."""
        j = len(self.taken)
        return self._factor[np.arange(j), self.taken] ** 2

    def solve(self):
        """Least-squares coefficients of what was taken: ndarray (j, m)."""
        j = len(self.taken)
        return np.linalg.solve(self._factor[:j][:, self.taken], self.projected())


class QREngine:
    """Modified Gram-Schmidt on the rows themselves, as in the paper.

    Parameters
    ----------
    columns : ndarray (n, d) float64, centred and times the root of the weights; overwritten
    targets : ndarray (n, m) float64, likewise; not changed
    scale : ndarray (d,), as in :class:`MomentsEngine`
    """

    def __init__(self, columns, targets, scale):
        self._columns, self._targets = columns, targets
        self._basis = np.zeros((columns.shape[0], 8))
        self._upper = np.zeros((8, columns.shape[1]))
        self.taken: list[int] = []
        self.total = float(np.add.reduce(targets * targets, axis=None))
        self._measure()
        self.floor = COLLINEAR * np.maximum(scale, self.square)

    on_demand = False

    def _measure(self):
        self.square = np.einsum("ij,ij->j", self._columns, self._columns)
        self.cross = self._columns.T @ self._targets
        self.square[self.taken] = 0.0

    def prepare(self, features):
        """Nothing to fetch: the rows are here."""

    def take_together(self, features):
        """Not in one step; see :meth:`MomentsEngine.take_together`."""
        return False

    def take(self, a, likely=()):
        """Project feature ``a`` out of every other."""
        j = len(self.taken)
        if j == self._basis.shape[1]:
            self._basis = np.hstack([self._basis, np.zeros_like(self._basis)])
            self._upper = np.vstack([self._upper, np.zeros_like(self._upper)])
        q, Q = self._columns[:, a].copy(), self._basis[:, :j]
        length = np.sqrt(q @ q)
        for _ in range(2):
            # Twice is enough: the winner must be orthogonal to the basis to full precision.
            correction = Q.T @ q
            q -= Q @ correction
            self._upper[:j, a] += correction
        q /= np.sqrt(q @ q)
        self._basis[:, j] = q
        along = q @ self._columns
        self._columns -= np.outer(q, along)
        along[self.taken] = 0.0
        along[a] = length
        self._upper[j] = along
        self.taken.append(a)
        self._measure()

    def block(self, members):
        """Residual Gram and cross products of a few features."""
        part = self._columns[:, members]
        return part.T @ part, self.cross[members]

    def projected(self):
        """Targets in the orthonormal basis of what was taken: ndarray (j, m)."""
        return self._basis[:, : len(self.taken)].T @ self._targets

    def solve(self):
        """Least-squares coefficients of what was taken: ndarray (j, m)."""
        j = len(self.taken)
        return np.linalg.solve(self._upper[:j][:, self.taken], self.projected())

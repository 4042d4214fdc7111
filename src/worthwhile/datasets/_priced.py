"""The same signals at several prices: noisy and cheap, clean and dear, or clean behind a fee."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from worthwhile.costs import Costs
from worthwhile.datasets._checks import not_negative, share, whole

__all__ = ["make_priced_classification", "make_priced_regression"]

CHEAP, DEAR, PANEL_FEE, PANEL_OWN, NOISE = 1, 10, 12, 1, 1
PANEL_SIZE = 2


def make_priced_classification(
    n: int = 1000,
    seed: int = 0,
    *,
    n_signals: int = 4,
    n_noise: int = 4,
    n_classes: int = 2,
    missing: float = 0.0,
) -> tuple[pd.DataFrame, NDArray[np.int64], Costs]:
    """Classes that depend on a few signals, each for sale as a cheap, a dear and a shared copy.

    The signals are independent and standard normal; signal ``j`` has weight ``2 ** -j``.

    * ``cheap_j``, price 1: the signal plus as much noise again;
    * ``dear_j``, price 10: the signal itself;
    * ``panel_0`` and ``panel_1``, price 1 each and a fee of 12 for the two: signals 0 and 1;
    * ``noise_k``, price 1: nothing at all.

    With two classes, the class is the sign of the weighted sum. With more, even and odd signals
    make two such sums, and the class is the sector of the plane they point to: every class has the
    same probability, and a linear model with one score per class can be exact.

    **Best policy.** Noise is never worth buying, nor is a cheap copy once its signal is known. The
    cheap copy of signal 0 comes first; where the cheap copies leave doubt, clean signals settle
    it, in the order of their weights. One of signals 0 and 1 alone is cheapest as its dear copy
    (10 against 13), both together as the panel (14 against 20). All signals clean, and so no
    errors, cost ``14 + 10 * (n_signals - 2)``.

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    seed : int, default=0
        Seed of the draw.
    n_signals : int, default=4
        Number of signals, at least 2.
    n_noise : int, default=4
        Number of noise columns.
    n_classes : int, default=2
        Number of classes, labelled from 0.
    missing : float, default=0.0
        Probability that a value is NaN, each on its own. NaN is bought and paid for.

    Returns
    -------
    X : DataFrame of shape (n, 2 * n_signals + 2 + n_noise)
    y : int64 array of shape (n,)
    costs : Costs
        With the group ``panel``.

    Examples
    --------
    >>> from worthwhile.datasets import make_priced_classification
    >>> X, y, costs = make_priced_classification(200, seed=0, missing=0.1)
    >>> X.shape, costs.price(["dear_0", "dear_1"]), costs.price(["panel_0", "panel_1"])
    ((200, 14), 20.0, 14.0)
    """
    n_classes = whole(n_classes, "n_classes", 2)
    X, signals, costs, _ = _priced_columns(n, seed, n_signals, n_noise, missing)
    weighted = signals * _weights(n_signals)
    if n_classes == 2:
        y = _in_order(weighted) > 0
    else:
        first, second = _in_order(weighted[:, 0::2]), _in_order(weighted[:, 1::2])
        # Unequal lengths would make some sectors likelier than others.
        first /= np.sqrt((_weights(n_signals)[0::2] ** 2).sum())
        second /= np.sqrt((_weights(n_signals)[1::2] ** 2).sum())
        angle = 2 * np.pi * np.arange(n_classes) / n_classes
        y = np.argmax(first[:, None] * np.cos(angle) + second[:, None] * np.sin(angle), axis=1)
    return X, y.astype(np.int64), costs


def make_priced_regression(
    n: int = 1000,
    seed: int = 0,
    *,
    n_signals: int = 4,
    n_noise: int = 4,
    error: float = 0.1,
    missing: float = 0.0,
) -> tuple[pd.DataFrame, NDArray[np.float64], Costs]:
    """A number that depends on a few signals, for sale as in :func:`make_priced_classification`.

    The target is the sum of ``2 ** -j`` times signal ``j``, plus normal noise of standard deviation
    ``error``.

    **Best policy.** As for the classes: noise never, no cheap copy of a known signal, the panel
    when both its signals are wanted. The variance that is left without signal ``j`` is ``4 ** -j``,
    half of it with the cheap copy (best used at half its value), and none with a clean one; so
    what to buy does not depend on the row, only on the price of error. All signals clean leave
    ``error ** 2`` and cost ``14 + 10 * (n_signals - 2)``.

    Parameters
    ----------
    n, seed, n_signals, n_noise, missing
        As for :func:`make_priced_classification`.
    error : float, default=0.1
        Standard deviation of what no feature explains.

    Returns
    -------
    X, costs
        As for :func:`make_priced_classification`.
    y : float64 array of shape (n,)

    Examples
    --------
    >>> from worthwhile.datasets import make_priced_regression
    >>> X, y, costs = make_priced_regression(200, seed=0, error=0)
    >>> exact = sum(X[f"dear_{j}"] * 0.5**j for j in range(4))
    >>> bool(abs(y - exact).max() < 1e-12)
    True
    """
    error = not_negative(error, "error")
    X, signals, costs, rng = _priced_columns(n, seed, n_signals, n_noise, missing)
    y = _in_order(signals * _weights(n_signals)) + error * rng.standard_normal(len(X))
    return X, y, costs


def _weights(n_signals: int) -> NDArray[np.float64]:
    return np.asarray(0.5 ** np.arange(n_signals), dtype=np.float64)


def _in_order(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum of the columns from left to right: the same bits whatever the number of rows."""
    total = np.zeros(len(columns))
    for column in columns.T:
        total += column
    return total


def _priced_columns(
    n: int, seed: int, n_signals: int, n_noise: int, missing: float
) -> tuple[pd.DataFrame, NDArray[np.float64], Costs, np.random.Generator]:
    n, seed = whole(n, "n", 1), whole(seed, "seed", 0)
    n_signals, n_noise = whole(n_signals, "n_signals", 2), whole(n_noise, "n_noise", 0)
    missing = share(missing, "missing")
    rng = np.random.default_rng([3, seed])
    signals = rng.standard_normal((n, n_signals))
    cheap = signals + rng.standard_normal((n, n_signals))
    noise = rng.standard_normal((n, n_noise))
    prices: dict[str, int] = {}
    prices |= {f"cheap_{j}": CHEAP for j in range(n_signals)}
    prices |= {f"dear_{j}": DEAR for j in range(n_signals)}
    panel = [f"panel_{j}" for j in range(PANEL_SIZE)]
    prices |= dict.fromkeys(panel, PANEL_OWN)
    prices |= {f"noise_{k}": NOISE for k in range(n_noise)}
    values = np.hstack([cheap, signals, signals[:, :PANEL_SIZE], noise])
    if missing:
        # A stream of its own: asking for gaps changes nothing else.
        values[np.random.default_rng([4, seed]).random(values.shape) < missing] = np.nan
    costs = Costs(prices, groups={"panel": {"fee": PANEL_FEE, "features": panel}})
    return pd.DataFrame(values, columns=list(prices)), signals, costs, rng

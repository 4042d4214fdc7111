"""The greedy path of forward selection, followed to its end from many states."""

from __future__ import annotations

import math

import numpy as np

from worthwhile.core.compile import kernel


@kernel()
def _margin(scores, label, logit):
    """Score of the label minus the best other one: of probabilities, or of the logits themselves."""
    own, other = scores[label], -np.inf
    for k in range(scores.shape[0]):
        if k != label and scores[k] > other:
            other = scores[k]
    if logit:
        return own - other
    top, total = max(own, other), 0.0
    for k in range(scores.shape[0]):
        total += math.exp(scores[k] - top)
    return (math.exp(own - top) - math.exp(other - top)) / total


@kernel()
def _price(own, fee, touches, opened, factor):
    """Price of a factor where some of the shared fees are paid already."""
    price = own[factor]
    for g in range(fee.shape[0]):
        if touches[factor, g] and not opened[g]:
            price += fee[g]
    return price


@kernel(
    "void(float64[:,::1], float64[:,:,::1], int64[::1], int64[::1], boolean[:,::1], int64[::1], int64[::1], "
    "boolean[:,::1], int64, float64, boolean, int64, int64, float64[::1], float64[:,::1], int64[::1], float64[::1])"
)
def follow_paths(
    raw, adds, rows, labels, bought, own, fee, touches, total, lam, logit, first, last, here, actions, best, later
):  # fmt: skip
    """From states ``first`` to ``last - 1``: buy what brings the highest reward until all is bought.

    Parameters
    ----------
    raw : float64 (m, classes)
        Logits of the states.
    adds : float64 (n, factors, classes)
        What each factor adds to the logits of each row.
    rows, labels : int64 (m,)
        Row of each state in ``adds``, and its true class.
    bought : bool (m, factors)
        What the states have; not all of it.
    own, fee, touches, total
        Prices of the factors alone, fees that several share, who pays which, and the full price.
    here : float64 (m,), written: reward of the state.
    actions : float64 (m, factors), written: reward after each purchase, -inf where it is bought.
    best : int64 (m,), written: the purchase of highest reward, the first of equal ones.
    later : float64 (m,), written: highest reward strictly later on the path.
    """
    n_factors, n_classes = adds.shape[1], adds.shape[2]
    now, after = np.empty(n_classes), np.empty(n_classes)
    has, opened = np.empty(n_factors, np.bool_), np.empty(fee.shape[0], np.bool_)
    for i in range(first, last):
        now[:] = raw[i]
        opened[:] = False
        spent = 0
        for f in range(n_factors):
            has[f] = bought[i, f]
            actions[i, f] = -np.inf
            if has[f]:
                spent += _price(own, fee, touches, opened, f)
                opened |= touches[f]
        here[i] = _margin(now, labels[i], logit) - lam * (spent / total)
        best[i], later[i] = -1, -np.inf
        while True:
            place, highest = -1, -np.inf
            for f in range(n_factors):
                if has[f]:
                    continue
                for k in range(n_classes):
                    after[k] = now[k] + adds[rows[i], f, k]
                price = spent + _price(own, fee, touches, opened, f)
                value = _margin(after, labels[i], logit) - lam * (price / total)
                if best[i] < 0:
                    actions[i, f] = value
                if place < 0 or value > highest:
                    place, highest = f, value
            if place < 0:
                break
            if best[i] < 0:
                best[i] = place
            later[i] = max(later[i], highest)
            for k in range(n_classes):
                now[k] += adds[rows[i], place, k]
            spent += _price(own, fee, touches, opened, place)
            opened |= touches[place]
            has[place] = True

"""The penalty of prices and fees, and its proximal step, loop by loop."""

from __future__ import annotations

import math


def norm(numbers):
    return math.sqrt(sum(x * x for x in numbers))


def penalty(W, price, members, fee):
    total = sum(c * norm(row) for c, row in zip(price, W, strict=True))
    for g, f in enumerate(fee):
        total += f * norm(x for row, own in zip(W, members, strict=True) if own[g] for x in row)
    return total


def soft(numbers, cut):
    """A vector shortened by ``cut``, or nothing of it."""
    length = norm(numbers)
    return [x * (length - cut) / length if length > cut else 0.0 for x in numbers]


def prox(W, step, price, members, fee):
    """For groups of which any two are nested or apart."""
    out = [soft(row, step * c) for c, row in zip(price, W, strict=True)]
    for g in sorted(range(len(fee)), key=lambda g: sum(own[g] for own in members)):
        rows = [a for a in range(len(out)) if members[a][g]]
        joined = iter(soft([x for a in rows for x in out[a]], step * fee[g]))
        for a in rows:
            out[a] = [next(joined) for _ in out[a]]
    return out


def lasso_slack(gradient, W, price, members, fee):
    """How far coefficients are from the optimality conditions of smooth part + penalty.

    In a group that is in: a row that is in has a gradient that its pulls outweigh exactly, one that
    is out has a gradient within its price. A group that is out holds what prices leave of the
    gradients by its fee. Groups must lie apart.
    """
    worst = 0.0
    group = [next((g for g in range(len(fee)) if own[g]), -1) for own in members]
    for g in (-1, *range(len(fee))):
        members = [a for a in range(len(W)) if group[a] == g]
        length = norm(x for a in members for x in W[a]) if g >= 0 else 0.0
        if g >= 0 and length == 0:
            left = norm(x for a in members for x in soft(gradient[a], price[a]))
            worst = max(worst, left - fee[g])
            continue
        for a in members:
            pull = [
                s + (fee[g] * x / length if g >= 0 else 0.0)
                for s, x in zip(gradient[a], W[a], strict=True)
            ]
            own = norm(W[a])
            if own > 0:
                pull = [p + price[a] * x / own for p, x in zip(pull, W[a], strict=True)]
                worst = max(worst, norm(pull))
            else:
                worst = max(worst, norm(pull) - price[a])
    return worst

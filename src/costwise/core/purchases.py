"""All reasoning about prices while trees grow.

Growers ask "what would this split add?" (:meth:`Purchases.prices`) and tell "this split was taken"
(:meth:`Purchases.taken`). Nothing is ever forgotten between trees, whatever rows or features a tree
was allowed to see.
"""

from __future__ import annotations

import numpy as np

from costwise.core.compile import kernel
from costwise.core.dtypes import SUM, WORD
from costwise.core.partition import HIGH, LOW, SPLIT

QUANTUM = 1e-9
"""One quantum of money in the user's unit."""


class Purchases:
    """What the model has bought: a feature, and the fee of its group, is paid once for all rows.

    Parameters
    ----------
    price, group, fee : arrays
        Whole quanta per feature, its group or -1, whole quanta per group.
    at_once : bool
        Whether what a split buys is free for the rest of the round (equation 5 of Greedy Miser), or
        only from the next call of :meth:`settle` on.

    Examples
    --------
    >>> import numpy as np
    >>> bought = Purchases(np.array([3, 4]) * 10**9, np.array([0, 0]), np.array([10]) * 10**9)
    >>> bought.prices().tolist()
    [[13.0, 14.0]]
    >>> bought.taken(0)
    >>> bought.prices().tolist()
    [[0.0, 4.0]]
    """

    def __init__(self, price, group, fee, *, at_once=True):
        self.price = np.asarray(price, dtype=SUM)
        self.group = np.asarray(group, dtype=np.int32)
        self.fee = np.asarray(fee, dtype=SUM)
        self.at_once = at_once
        self.bought = np.zeros(len(self.price), dtype=bool)
        self.order: list[int] = []
        self.total = 0
        self._prices = np.empty((1, len(self.price)))
        self.settle()

    def marginal(self):
        """Quanta that each feature would add to the model now."""
        opened = np.zeros(len(self.fee), dtype=bool)
        groups = self.group[self.bought]
        opened[groups[groups >= 0]] = True
        fees = np.where(opened, 0, self.fee)
        entry = np.where(self.group >= 0, fees[self.group], 0) if len(fees) else 0
        return np.where(self.bought, 0, self.price + entry)

    def prices(self, stretches=None):
        """Return what a split on each feature would add, in the user's unit: (1, d), good for every node."""
        return self._prices

    def taken(self, feature, number=None):
        """Note that a split on ``feature`` was taken (at stretch ``number``)."""
        if self.bought[feature]:
            return
        self.total += int(self.marginal()[feature])
        self.bought[feature] = True
        self.order.append(int(feature))
        if self.at_once:
            self.settle()

    def settle(self):
        """Let everything bought so far be free from now on."""
        self._prices[0] = self.marginal() * QUANTUM


@kernel(
    "void(uint64[:,::1], int32[::1], boolean, int64[:,::1], int64[:,::1], int64[::1], int64, int64)"
)
def meet_rows(bits, rows, all_rows, pieces, needs, new, low, high):
    """Set bits for the rows of pieces ``low..high``; count the rows that are new to each need.

    ``needs`` (k, 3): stretch, word and bit. One pass per bit and no jump: almost every row has met
    almost everything, and where it has not, a test would be a coin toss.
    """
    for p in range(low, high):
        for k in range(needs.shape[0]):
            if needs[k, 0] != pieces[p, SPLIT]:
                continue
            word, bit = bits[needs[k, 1]], np.uint64(needs[k, 2])
            mask, met = np.uint64(1) << bit, np.uint64(0)
            for i in range(pieces[p, LOW], pieces[p, HIGH]):
                row = np.uint32(i) if all_rows else np.uint32(rows[i])
                met += (word[row] >> bit) & np.uint64(1)
                word[row] |= mask
            new[k] += pieces[p, HIGH] - pieces[p, LOW] - np.int64(met)


@kernel("int64(uint64[:,::1], int32[::1], boolean, int64[::1], int64, int64, int64, int64[:,::1])")
def weigh_met(bits, rows, all_rows, weights, start, stop, words, met):
    """Add up, for each bit, the weights of the rows at positions ``start..stop`` that have it set.

    Returns the weight of all these rows; ``weights`` is empty for unit weights.
    """
    total = np.int64(0)
    for i in range(start, stop):
        row = np.uint32(i) if all_rows else np.uint32(rows[i])
        weight = weights[row] if weights.shape[0] > 0 else np.int64(1)
        total += weight
        for w in range(words):
            value = bits[w, row]
            bit = 0
            while value != 0:
                met[w, bit] += weight * np.int64(value & np.uint64(1))
                value >>= np.uint64(1)
                bit += 1
    return total


class Meetings:
    """Which rows have read which features, and hence what each row has paid.

    One bit per row and feature, and one per row and group; bits are numbered in the order in which
    features were first bought, so that the busy ones share few words.
    """

    def __init__(self, n_rows, price, group, fee, threads):
        self.n_rows = n_rows
        self._price, self._group, self._fee = price, group, fee
        self._threads = threads
        words = -(-(len(price) + len(fee)) // 64)
        self._bits = np.zeros((words, n_rows), dtype=WORD)
        self._met = np.zeros((words, 64), dtype=SUM)
        self._slots: dict[tuple[str, int], int] = {}

    def _slot(self, kind, number):
        return self._slots.setdefault((kind, number), len(self._slots))

    def _needs(self, paths):
        """(stretch, word, bit) of everything on the paths that some row has not met yet."""
        needs = []
        for stretch, path in enumerate(paths):
            groups = {int(g) for g in self._group[list(path)] if g >= 0}
            slots = [self._slot("feature", feature) for feature in path]
            slots += [self._slot("group", g) for g in sorted(groups)]
            needs += [(stretch, *divmod(slot, 64)) for slot in slots]
        return [need for need in needs if self._met[need[1:]] < self.n_rows]

    def meet(self, rows, all_rows, pieces, paths):
        """Let the rows of each stretch read the features on its path."""
        needs = np.array(self._needs(paths), dtype=SUM).reshape(-1, 3)
        if not len(needs) or not len(pieces):
            return
        parts = self._threads.count if len(pieces) > 4 else 1
        new = np.zeros((parts, len(needs)), dtype=SUM)

        def work(part):
            low, high = part * len(pieces) // parts, (part + 1) * len(pieces) // parts
            meet_rows(self._bits, rows, all_rows, pieces, needs, new[part], low, high)

        self._threads.run(parts, work)
        np.add.at(self._met, (needs[:, 1], needs[:, 2]), new.sum(axis=0))

    def restore(self, acquired):
        """Let every row have read what ``acquired`` (n, d) says."""
        for feature in np.flatnonzero(acquired.any(axis=0)).tolist():
            self._set(self._slot("feature", feature), acquired[:, feature])
            if (group := int(self._group[feature])) >= 0:
                self._set(self._slot("group", group), acquired[:, self._group == group].any(axis=1))

    def _set(self, slot, rows):
        word, bit = divmod(slot, 64)
        self._bits[word] |= rows.astype(WORD) << WORD(bit)
        self._met[word, bit] = int(rows.sum())

    def quanta(self):
        """Sum over all rows of what they have paid, exactly."""
        return sum(
            int(self._met[divmod(slot, 64)])
            * int((self._price if kind == "feature" else self._fee)[number])
            for (kind, number), slot in self._slots.items()
        )

    def unmet(self, rows, all_rows, weights, start, stop):
        """Weight at positions ``start..stop`` that has not read each feature (d,), each group (G,)."""
        met = np.zeros_like(self._met)
        words = -(-len(self._slots) // 64)
        total = weigh_met(self._bits, rows, all_rows, weights, start, stop, words, met)
        features = np.full(len(self._price), total, dtype=SUM)
        groups = np.full(len(self._fee), total, dtype=SUM)
        for (kind, number), slot in self._slots.items():
            (features if kind == "feature" else groups)[number] = total - met[divmod(slot, 64)]
        return features, groups


class RowPurchases(Purchases):
    """What single rows have bought: a split is priced for the rows of its node that lack the feature.

    The price of a split is the mean over all training rows of what they would have to pay for it.
    Rows keep what they met in any tree, also in trees whose sample they were not part of.
    """

    def __init__(self, price, group, fee, meetings, weights):
        self.meetings = meetings
        self._weights = weights
        super().__init__(price, group, fee)

    def prices(self, stretches=None):
        """Return the mean price of a split per stretch and feature (k, d).

        ``stretches``: the row set, the weight that the tree sees, and for each stretch its start,
        stop and the features on the path to it.
        """
        row_set, weight, places = stretches
        found = np.empty((len(places), len(self.price)))
        for number, (start, stop, path) in enumerate(places):
            features, groups = self.meetings.unmet(
                row_set.rows, row_set.all_rows, self._weights, start, stop
            )
            on_path = list(path)
            features[on_path] = 0
            opened = self.group[on_path]
            groups[opened[opened >= 0]] = 0
            own = features * (self.price * QUANTUM)
            if len(groups):
                # Rows that lack the group lack each of its features, so a met feature adds no fee.
                lacks = (self.group >= 0) & (features > 0)
                own = own + np.where(lacks, (groups * (self.fee * QUANTUM))[self.group], 0.0)
            found[number] = own / weight
        return found

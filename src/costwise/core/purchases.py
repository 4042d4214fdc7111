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


@kernel("void(uint64[:,::1], int32[::1], boolean, int64[:,::1], int64[:,::1], uint64[::1], int64[:,::1], int64, int64)")
def _meet(bits, rows, all_rows, pieces, needs, masks, new, low, high):
    """Set bits for the rows of pieces ``low..high``; count the new ones per bit.

    ``needs`` (k, 2): stretch and word, sorted by stretch; ``masks`` (k,): the bits to set in it.
    """
    for p in range(low, high):
        for k in range(needs.shape[0]):
            if needs[k, 0] != pieces[p, SPLIT]:
                continue
            word = bits[needs[k, 1]]
            mask = masks[k]
            for i in range(pieces[p, LOW], pieces[p, HIGH]):
                row = np.uint32(i) if all_rows else np.uint32(rows[i])
                missing = mask & ~word[row]
                if missing != 0:
                    word[row] |= mask
                    for bit in range(64):
                        new[needs[k, 1], bit] += np.int64((missing >> np.uint64(bit)) & np.uint64(1))


@kernel("void(uint64[:,::1], int32[::1], boolean, int64, int64, int64, int64[:,::1])")
def _count_met(bits, rows, all_rows, start, stop, words, met):
    """Count for each bit how many of the rows at positions ``start..stop`` have it set."""
    for w in range(words):
        for i in range(start, stop):
            row = np.uint32(i) if all_rows else np.uint32(rows[i])
            value = bits[w, row]
            bit = 0
            while value != 0:
                met[w, bit] += np.int64(value & np.uint64(1))
                value >>= np.uint64(1)
                bit += 1


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

    def _needed(self, paths):
        """(stretch, word) and mask of everything on the paths that some row has not met yet."""
        masks: dict[tuple[int, int], int] = {}
        for stretch, path in enumerate(paths):
            slots = [self._slot("feature", feature) for feature in path]
            slots += [self._slot("group", int(g)) for g in self._group[list(path)] if g >= 0]
            for word, bit in (divmod(slot, 64) for slot in slots):
                if self._met[word, bit] < self.n_rows:
                    masks[stretch, word] = masks.get((stretch, word), 0) | (1 << bit)
        return masks

    def meet(self, rows, all_rows, pieces, paths):
        """Let the rows of each stretch read the features on its path."""
        masks = self._needed(paths)
        if not masks or not len(pieces):
            return
        needs = np.array(list(masks), dtype=SUM)
        values = np.array(list(masks.values()), dtype=WORD)
        parts = self._threads.count if len(pieces) > 4 else 1
        new = np.zeros((parts, *self._met.shape), dtype=SUM)

        def work(part):
            low, high = part * len(pieces) // parts, (part + 1) * len(pieces) // parts
            _meet(self._bits, rows, all_rows, pieces, needs, values, new[part], low, high)

        self._threads.run(parts, work)
        self._met += new.sum(axis=0)

    def quanta(self):
        """Sum over all rows of what they have paid, exactly."""
        return sum(
            int(self._met[divmod(slot, 64)]) * int((self._price if kind == "feature" else self._fee)[number])
            for (kind, number), slot in self._slots.items()
        )

    def unmet(self, rows, all_rows, start, stop):
        """Rows at positions ``start..stop`` that have not read each feature (d,), each group (G,)."""
        size = stop - start
        met = np.zeros_like(self._met)
        _count_met(self._bits, rows, all_rows, start, stop, -(-len(self._slots) // 64), met)
        features = np.full(len(self._price), size, dtype=SUM)
        groups = np.full(len(self._fee), size, dtype=SUM)
        for (kind, number), slot in self._slots.items():
            (features if kind == "feature" else groups)[number] = size - met[divmod(slot, 64)]
        return features, groups


class RowPurchases(Purchases):
    """What single rows have bought: a split is priced for the rows of its node that lack the feature.

    The price of a split is the mean over all training rows of what they would have to pay for it.
    Rows keep what they met in any tree, also in trees whose sample they were not part of.
    """

    def __init__(self, price, group, fee, meetings, *, at_once=True):
        self.meetings = meetings
        super().__init__(price, group, fee, at_once=at_once)

    def prices(self, stretches=None):
        """Return the mean price of a split per stretch and feature (k, d).

        ``stretches``: the row set, the number of rows that one tree sees, and for each stretch its
        start, stop and the features on the path to it.
        """
        row_set, n_rows, places = stretches
        found = np.empty((len(places), len(self.price)))
        for number, (start, stop, path) in enumerate(places):
            features, groups = self.meetings.unmet(row_set.rows, row_set.all_rows, start, stop)
            on_path = list(path)
            features[on_path] = 0
            opened = self.group[on_path]
            groups[opened[opened >= 0]] = 0
            own = features * (self.price * QUANTUM)
            if len(groups):
                shared = groups * (self.fee * QUANTUM)
                lacks = (self.group >= 0) & (features > 0)
                own = own + np.where(lacks, shared[self.group], 0.0)
            found[number] = own / n_rows
        return found

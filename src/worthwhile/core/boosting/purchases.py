"""All reasoning about prices while trees grow.

Growers ask "what would this split add?" (:meth:`Purchases.prices`) and tell "this split was taken"
(:meth:`Purchases.taken`). Nothing is ever forgotten between trees, whatever rows or features a tree
was allowed to see.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.leaves import in_parts
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import QUANTUM, SUM, WORD
from worthwhile.costs import FlatCosts


class Purchases:
    """What the model has bought: a feature, and each fee, is paid once for all rows.

    Parameters
    ----------
    costs : FlatCosts
        The prices.
    at_once : bool
        Whether what a split buys is free for the rest of the round (equation 5 of Greedy Miser), or
        only from the next call of :meth:`settle` on.

    Examples
    --------
    >>> bought = Purchases(FlatCosts.of([3 * 10**9, 4 * 10**9], [[0], [0]], [10 * 10**9]))
    >>> bought.prices().tolist()
    [[13.0, 14.0]]
    >>> bought.taken(0)
    >>> bought.prices().tolist()
    [[0.0, 4.0]]
    """

    def __init__(self, costs: FlatCosts, *, at_once=True):
        self.costs, self.at_once = costs, at_once
        self.bought = np.zeros(len(costs.price), dtype=bool)
        self.order: list[int] = []
        self.total = 0
        self._prices = np.empty((1, len(costs.price)))
        self._settled = False
        self.settle()

    def marginal(self):
        """Quanta that each feature would add to the model now."""
        return self.costs.after(self.bought).alone

    def prices(self, node_rows=None, weight=None, nodes=()):
        """Return what a split on each feature would add, in the user's unit: (1, d), for every node."""
        return self._prices

    def taken(self, feature):
        """Note that a split on ``feature`` was taken."""
        if self.bought[feature]:
            return
        self.total += int(self.marginal()[feature])
        self.bought[feature] = True
        self.order.append(int(feature))
        self._settled = False
        if self.at_once:
            self.settle()

    def settle(self):
        """Let everything bought so far be free from now on."""
        if not self._settled:
            self._prices[0] = self.marginal() * QUANTUM
            self._settled = True


@kernel(
    "void(uint64[::1], uint16[::1], uint64[::1], int64[::1], int64[::1], int64, int64)", lean=True
)
def meet_rows(word, leaf, masks, slots, new, start, stop):
    """Set in the words of rows ``start..stop`` the bits that their leaves (nodes,) stand for.

    Counts in ``new`` how many rows had each of the bits ``slots`` not yet set.
    """
    for i in range(start, stop):
        lacks = masks[leaf[i]] & ~word[i]
        if lacks != 0:
            word[i] |= lacks
            for k in range(slots.shape[0]):
                new[k] += np.int64((lacks >> np.uint64(slots[k])) & np.uint64(1))


@kernel(
    "int64(uint64[:,::1], int32[::1], boolean, int64[::1], int64[:,::1], int64, int64[:,::1])",
    lean=True,
)
def weigh_met(bits, rows, all_rows, weights, pieces, words, met):
    """Add up, for each bit, the weights of the rows of the pieces (k, 2) that have it set.

    Returns the weight of all these rows; ``weights`` is empty for unit weights.
    """
    total = np.int64(0)
    for p in range(pieces.shape[0]):
        for i in range(pieces[p, 0], pieces[p, 1]):
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
    """Which rows have read (acquired) which features, and hence what each row has paid.

    One bit per row and feature, and one per row and fee; bits are numbered in the order in which
    features were first bought, so that the busy ones share few words. Bits stay with their rows;
    ``n_rows`` and all counts are of the rows of all ranks.
    """

    def __init__(self, n_rows, costs: FlatCosts, threads):
        self._costs, self._threads, self._all = costs, threads, threads.collective
        self.n_rows = int(self._all.sum(np.array([n_rows], dtype=SUM))[0])
        words = -(-(len(costs.price) + len(costs.fee)) // 64)
        self._bits = np.zeros((words, n_rows), dtype=WORD)
        self._met = np.zeros((words, 64), dtype=SUM)
        self._slots: dict[tuple[str, int], int] = {}
        self._worth: list[int] = []  # price of each slot
        self._full: set[int] = set()  # slots that every row has met
        self._paid = 0

    def _slot(self, kind, number):
        slot = self._slots.setdefault((kind, number), len(self._slots))
        if slot == len(self._worth):
            amounts = self._costs.price if kind == "feature" else self._costs.fee
            self._worth.append(int(amounts[number]))
        return slot

    def _slots_of(self, feature):
        """What a row that reads a feature meets: the feature, and the fees that it opens."""
        begin, opens = self._costs.begin, self._costs.opens
        fees = opens[begin[feature] : begin[feature + 1]].tolist()
        return [self._slot("feature", feature), *(self._slot("fee", fee) for fee in fees)]

    def _masks(self, paths):
        """{word: (bits, masks per node)} of what is on the paths and some row has not met yet."""
        found: dict[int, tuple[set[int], np.ndarray]] = {}
        lacking = {
            feature: [slot for slot in self._slots_of(feature) if slot not in self._full]
            for feature in dict.fromkeys(feature for path in paths for feature in path)
        }
        if not any(lacking.values()):
            return found
        for node, path in enumerate(paths):
            for word, bit in (divmod(slot, 64) for feature in path for slot in lacking[feature]):
                bits, masks = found.setdefault(word, (set(), np.zeros(len(paths), dtype=WORD)))
                bits.add(bit)
                masks[node] |= WORD(1 << bit)
        return found

    def meet(self, leaf, paths):
        """Let every row read the features on the path (by node) to its leaf (n,)."""
        for word, (bits, masks) in self._masks(paths).items():
            slots = np.array(sorted(bits), dtype=SUM)
            counts = []

            def work(start, stop, word=word, masks=masks, slots=slots, counts=counts):
                new = np.zeros(len(slots), dtype=SUM)
                meet_rows(self._bits[word], leaf, masks, slots, new, start, stop)
                counts.append(new)

            in_parts(self._threads, len(leaf), work)
            found = self._all.sum(np.sum(counts, axis=0))
            for bit, count in zip(slots.tolist(), found.tolist(), strict=True):
                self._count(64 * word + bit, count)

    def _count(self, slot, new):
        """Note that some rows have newly met a slot, and paid for it."""
        met = self._met[divmod(slot, 64)] = self._met[divmod(slot, 64)] + new
        self._paid += new * self._worth[slot]
        if met == self.n_rows:
            self._full.add(slot)

    def restore(self, acquired):
        """Let every row have read what ``acquired`` (n, d) says."""
        read = self._all.max(acquired.any(axis=0))
        for feature in np.flatnonzero(read).tolist():
            self._set(self._slot("feature", feature), acquired[:, feature])
        members = self._costs.members
        for fee in np.flatnonzero(members[read].any(axis=0)).tolist():
            self._set(self._slot("fee", fee), acquired[:, members[:, fee]].any(axis=1))

    def _set(self, slot, rows):
        word, bit = divmod(slot, 64)
        self._bits[word] |= rows.astype(WORD) << WORD(bit)
        found = int(self._all.sum(rows.sum(keepdims=True, dtype=SUM))[0])
        self._count(slot, found - int(self._met[word, bit]))

    def quanta(self):
        """Sum over all rows of what they have paid, exactly."""
        return self._paid

    def unmet(self, rows, all_rows, weights, pieces):
        """Weight of the rows of the pieces that has not read each feature (d,), paid each fee (G,)."""
        met = np.zeros_like(self._met)
        words = -(-len(self._slots) // 64)
        own = weigh_met(self._bits, rows, all_rows, weights, pieces, words, met)
        *found, total = self._all.sum(np.append(met, own)).tolist()
        met = np.array(found, dtype=SUM).reshape(met.shape)
        features = np.full(len(self._costs.price), total, dtype=SUM)
        fees = np.full(len(self._costs.fee), total, dtype=SUM)
        for (kind, number), slot in self._slots.items():
            (features if kind == "feature" else fees)[number] = total - met[divmod(slot, 64)]
        return features, fees


class RowPurchases(Purchases):
    """What single rows have bought: a split is priced for the rows of its node that lack the feature.

    The price of a split is the mean over all training rows of what they would have to pay for it.
    Rows keep what they met in any tree, also in trees whose sample they were not part of.
    """

    def __init__(self, costs: FlatCosts, meetings, weights):
        self.meetings = meetings
        self._weights = weights
        super().__init__(costs)

    def prices(self, node_rows=None, weight=None, nodes=()):
        """Return the mean price of a split per node and feature (k, d).

        ``node_rows`` knows where rows are; ``weight`` is what the tree sees in all; ``nodes`` are
        pairs of a node's pieces and the features on the path to it.
        """
        costs, opener = self.costs, self.costs.opener
        found = np.empty((len(nodes), len(costs.price)))
        for number, (pieces, path) in enumerate(nodes):
            features, fees = self.meetings.unmet(
                node_rows.rows, node_rows.all_rows, self._weights, pieces
            )
            on_path = list(path)
            features[on_path] = 0
            own = features * (costs.price * QUANTUM)
            if len(fees):
                fees[costs.opened_by(on_path)] = 0
                # Rows that lack a fee lack each feature that opens it, so a met feature adds no fee.
                due = (fees * (costs.fee * QUANTUM))[costs.opens]
                entry = np.bincount(opener, due, minlength=len(own))
                own = own + np.where(features > 0, entry, 0.0)
            found[number] = own / weight
        return found

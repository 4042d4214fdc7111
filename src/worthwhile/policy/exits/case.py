"""Rows and queries on their way through stages with exits."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from worthwhile.core.trees import Trees
from worthwhile.policy.base import Bundle, Case, Floats
from worthwhile.policy.trees import answer_at

if TYPE_CHECKING:
    from worthwhile.policy.exits.policy import ExitPolicy


class Lists:
    """The nodes as Python lists: for the few trees of a stage they are faster than arrays."""

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        self.feature: list[int] = trees.feature.tolist()
        self.threshold: list[float] = trees.threshold.tolist()
        self.left: list[int] = trees.left.tolist()
        self.right: list[int] = trees.right.tolist()
        self.missing: list[int] = np.where(trees.missing_left, trees.left, trees.right).tolist()
        self.root: list[int] = trees.root.tolist()
        self.first_value: list[float] = trees.value[:, 0].tolist()
        self.sets: dict[int, int] = {}
        """Nodes that test for membership, and the codes of their sets as bits of one number."""
        if trees.category is not None and trees.sets is not None:
            for node in np.flatnonzero(trees.category).tolist():
                first = int(self.threshold[node])
                words = trees.sets[first + 1 : first + 1 + int(trees.sets[first])]
                self.sets[node] = int.from_bytes(words.astype("<u8").tobytes(), "little")


class StagedCase(Case):
    """One row: the trees of a stage walk side by side, and the next stage starts when all stand.

    Trees that wait for a feature stand in its line, and lines are served in the order in which they
    formed: a value that is told before its turn is held until then, so that the order of telling
    does not change what is bought.
    """

    def __init__(self, policy: ExitPolicy) -> None:
        self._policy = policy
        self._lists = policy._nodes()
        self._evaluation = policy.costs.flat.evaluation
        self._at: list[int] = []
        self._known: dict[int, float] = {}
        self._held: dict[int, float] = {}  # told, while a line before theirs still waits
        self._refused: set[int] = set()
        self._line: dict[int, list[int]] = {}
        self._stopped: dict[int, list[int]] = {}
        self._stage = 0
        self._over = False

    def wants(self, left: int | None) -> list[Bundle]:
        """The features at which lines stand; a stage that is complete makes way for the next."""
        while not self._line and not self._over:
            started = self._advance(left)
            left = None if left is None else left - started * self._evaluation
        return [(feature,) for feature in self._line if feature not in self._held]

    def _advance(self, left: int | None) -> int:
        """Leave, or start the next stage; the number of trees that start."""
        stages = self._policy._stages
        if self._stage == len(stages) or self._leaves():
            self._over = True
            return 0
        first, last = stages[self._stage]
        if left is not None and (last - first) * self._evaluation > left:
            self._over = True
            return 0
        self.start_stage()
        return last - first

    def _leaves(self) -> bool:
        policy = self._policy
        if not policy.alone or self._stage == 0:
            return False
        probabilities = policy.output.plain.probabilities(self.answer()[None, :])
        return bool(probabilities.max() > policy.levels[self._stage - 1])

    def start_stage(self) -> None:
        """Set the trees of the next stage going."""
        first, last = self._policy._stages[self._stage]
        self._stage += 1
        self.evaluated += last - first
        self._at += self._lists.root[first:last]
        self._walk(range(first, last))

    @property
    def waiting(self) -> list[int]:
        """Features at which lines stand, in the order in which they formed."""
        return list(self._line)

    def learn(self, feature: int, value: float) -> None:
        """Walk on every tree that stood in line for the feature, when it is its turn."""
        self._refused.discard(feature)
        if feature in self._line:
            self.hold(feature, value)
            self._serve_told()
        else:
            self._known[feature] = self._as_read(value)
            # It may have been refused before and turn up all the same.
            self._walk(self._stopped.pop(feature, []))

    def refuse(self, bundle: Bundle) -> None:
        """Leave the trees that stand in line for it where they are."""
        for feature in bundle:
            self.stop(feature)
        self._serve_told()

    def _as_read(self, value: float) -> float:
        return float(np.float32(value)) if self._lists.trees.single else value

    def _serve_told(self) -> None:
        while self._line and (feature := next(iter(self._line))) in self._held:
            self.serve(feature)

    # What a query does with its documents, in an order of its own

    def hold(self, feature: int, value: float) -> None:
        """Take in a value that trees stand in line for, and leave them there until it is its turn."""
        self._held[feature] = self._as_read(value)

    def serve(self, feature: int) -> None:
        """It is the turn of a value that is held."""
        self._known[feature] = self._held.pop(feature)
        self._walk(self._line.pop(feature))

    def stop(self, feature: int) -> None:
        """Nobody waits for a feature any more; trees that stand in its line stay where they are."""
        self._refused.add(feature)
        if feature in self._line:
            self._stopped[feature] = self._line.pop(feature)

    def why(self, feature: int) -> str:
        """How many trees stand in line for it."""
        return f"{len(self._line.get(feature, ()))} of {self.evaluated} trees wait for it"

    def _walk(self, trees: Iterable[int]) -> None:
        """Let trees go as far as they can, one after the other."""
        for tree in trees:
            node = self._at[tree] = self._descend(self._at[tree], self._known)
            if (feature := self._lists.feature[node]) >= 0:
                waiting = self._stopped if feature in self._refused else self._line
                waiting.setdefault(feature, []).append(tree)

    def _descend(self, node: int, known: Mapping[int, float]) -> int:
        """Where a tree stands next for want of a feature, or its leaf."""
        lists = self._lists
        while (feature := lists.feature[node]) in known:
            value = known[feature]
            if node in lists.sets and value == value:
                codes = lists.sets[node]
                within = -1 < value < codes.bit_length() and codes >> int(value) & 1
                node = lists.left[node] if within else lists.right[node]
            elif value <= lists.threshold[node]:
                node = lists.left[node]
            elif value == value:
                node = lists.right[node]
            else:
                node = lists.missing[node]
        return node

    def _standing(self) -> list[int]:
        """The node of each tree with all that was told, whether or not its turn has come."""
        if not self._held:
            return self._at
        known = self._known | self._held
        return [self._descend(node, known) for node in self._at]

    def answer(self) -> Floats:
        """Add up the nodes reached, in the order of the trees."""
        return answer_at(self._lists.trees, self._standing())


class QueryCase:
    """The documents of a query on their way through the stages, with one purse.

    As for a single :class:`~worthwhile.policy.base.Case`, what is wanted is served in the order in
    which it came up, over all documents, whatever the order in which it is told.
    """

    def __init__(self, policy: ExitPolicy, n_documents: int) -> None:
        self._policy = policy
        self._walks = [StagedCase(policy) for _ in range(n_documents)]
        self._active = list(range(n_documents))
        self._exit_of = [len(policy.ends)] * n_documents
        self._queue: dict[tuple[int, int], None] = {}
        self._told: set[tuple[int, int]] = set()  # what of the queue was told before its turn
        self._stage = 0
        self._over = False

    @property
    def evaluated(self) -> list[int]:
        """Trees evaluated so far for each document."""
        return [walk.evaluated for walk in self._walks]

    @property
    def active(self) -> list[int]:
        """Documents that have not left."""
        return list(self._active)

    def wants(self, left: int | None) -> list[tuple[int, int]]:
        """Document and feature of what is now certain to be read; [] when done."""
        while not self._queue and not self._over:
            if self._stage:
                self._decide()
            if self._stage == len(self._policy.ends) or not self._active:
                self._over = True
                break
            first, last = self._policy._stages[self._stage]
            bill = len(self._active) * (last - first) * self._policy.costs.flat.evaluation
            if left is not None and bill > left:
                self._over = True
                break
            left = None if left is None else left - bill
            self._stage += 1
            for document in self._active:
                self._walks[document].start_stage()
                self._line_up(document)
        return [item for item in self._queue if item not in self._told]

    def _line_up(self, document: int) -> None:
        for feature in self._walks[document].waiting:
            self._queue.setdefault((document, feature))

    def _decide(self) -> None:
        """Remove documents at the exit after the stage that has just been completed."""
        policy = self._policy
        if self._stage == len(policy.ends):
            return
        scores = [float(self._walks[document].answer()[0]) for document in self._active]
        stay = staying(policy.rule, float(policy.levels[self._stage - 1]), policy.keep, scores)
        for document, stays in zip(self._active, stay, strict=True):
            if not stays:
                self._exit_of[document] = self._stage
        self._active = [d for d, stays in zip(self._active, stay, strict=True) if stays]

    def learn(self, document: int, feature: int, value: float) -> None:
        """Take in a value."""
        if (document, feature) in self._queue:
            self._told.add((document, feature))
            self._walks[document].hold(feature, value)
            self._serve()
        else:
            self._walks[document].learn(feature, value)
            self._line_up(document)

    def _serve(self) -> None:
        """Serve the queue from its first on, as far as it was told."""
        while self._queue and (first := next(iter(self._queue))) in self._told:
            del self._queue[first]
            self._told.discard(first)
            document, feature = first
            self._walks[document].serve(feature)
            self._line_up(document)

    def refuse(self, document: int, feature: int) -> None:
        """Go on without a value that cannot be had."""
        self._queue.pop((document, feature), None)
        self._walks[document].stop(feature)
        self._serve()

    def answer(self) -> Floats:
        """Scores whose order is the ranking, with what is known now, (documents,)."""
        scores = [float(walk.answer()[0]) for walk in self._walks]
        return np.array(ranked_scores(scores, self._exit_of))


def staying(rule: str, level: float, keep: int, scores: Sequence[float]) -> list[bool]:
    """Which documents go on; the same decisions as the kernel ``core.walks.staged.leave``."""
    m = len(scores)
    if rule == "score":
        return [score >= level for score in scores]
    best = keep if rule == "proximity" else m if level >= m else int(level)
    if best >= m:
        return [True] * m
    if rule == "capacity":
        return _entering(best, scores)
    order = sorted(range(m), key=lambda i: (-scores[i], i))
    among = set(order[:best])
    if rule == "rank":
        return [i in among for i in range(m)]
    limit = scores[order[best - 1]]
    return [i in among or limit - scores[i] < level for i in range(m)]


def _entering(best: int, scores: Sequence[float]) -> list[bool]:
    """Whether each score is among the best of those up to it."""
    heap: list[float] = []
    enters = []
    for score in scores:
        enters.append(len(heap) < best or score > heap[0])
        if len(heap) < best:
            heapq.heappush(heap, score)
        elif enters[-1]:
            heapq.heapreplace(heap, score)
    return enters


def ranked_scores(scores: Sequence[float], exit_of: Sequence[int]) -> list[float]:
    """Scores in the order of the ranking; the same numbers as ``core.walks.staged.ranking_scores``."""
    ranked = list(scores)
    if len(set(exit_of)) <= 1:
        return ranked
    order = sorted(range(len(ranked)), key=lambda i: (-exit_of[i], -scores[i], i))
    shift, before, above, level = 0.0, 0.0, math.inf, exit_of[order[0]]
    for i in order:
        own = scores[i]
        if exit_of[i] != level:
            level = exit_of[i]
            shift = min(0.0, (above - 1.0) - own)
            ranked[i] = min(own + shift, math.nextafter(above, -math.inf))
        elif own == before and above < math.inf:
            ranked[i] = above
        else:
            ranked[i] = min(own + shift, math.nextafter(above, -math.inf))
        before, above = own, ranked[i]
    return ranked

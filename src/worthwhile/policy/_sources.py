"""One row of a policy that buys sources, while the policy inside wants what is made of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection

from worthwhile.policy.base import Bundle, Case, Floats


class SourcesCase(Case):
    """What all such cases share: what was wanted inside is known by the sources asked for."""

    def __init__(self, inner: Case) -> None:
        self._inner = inner
        self._wanted: dict[Bundle, list[Bundle]] = {}  # inside, by what was asked for

    @abstractmethod
    def _made_of(self, source: int) -> Collection[int]:
        """What is made of a source, in order."""

    def _wanted_of(self, source: int) -> list[int]:
        """What is wanted of that which is made of a source."""
        made = self._made_of(source)
        wanted = [number for bundles in self._wanted.values() for b in bundles for number in b]
        return [number for number in wanted if number in made]

    def refuse(self, bundle: Bundle) -> None:
        """What was wanted from these sources cannot be had, and of a single source nothing at all."""
        made = tuple(dict.fromkeys(number for source in bundle for number in self._made_of(source)))
        for wanted in self._wanted.pop(bundle, [made]):
            self._inner.refuse(wanted)
        if len(bundle) == 1:
            for number in made:
                self._inner.refuse((number,))

    def answer(self) -> Floats:
        """What the case inside says."""
        return self._inner.answer()

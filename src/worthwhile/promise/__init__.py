"""What a model promised when it was trained, and whether that still holds.

``promise`` is what a model file carries: figures on rows that did not train, and how the values that
were bought were spread. ``_evidence`` makes figures of cases whose truth is known, ``_spread`` compares
values, ``_check`` judges both. Numbers alone are needed: a service checks as a program does.
"""

from worthwhile.promise._check import check_promise
from worthwhile.promise._evidence import Evidence
from worthwhile.promise._spread import Spread
from worthwhile.promise.promise import Figure, Promise

__all__ = ["Evidence", "Figure", "Promise", "Spread", "check_promise"]

"""On-demand prediction: sessions, ledgers, extractors."""

from worthwhile.runtime.bulk import Answers, run_sessions
from worthwhile.runtime.extractors import Extractors
from worthwhile.runtime.ledger import Entry, Ledger
from worthwhile.runtime.session import Session
from worthwhile.runtime.values import UNAVAILABLE, Paid, split_paid

__all__ = [
    "UNAVAILABLE",
    "Answers",
    "Entry",
    "Extractors",
    "Ledger",
    "Paid",
    "Session",
    "run_sessions",
    "split_paid",
]

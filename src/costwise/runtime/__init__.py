"""On-demand prediction: sessions, ledgers, extractors."""

from costwise.runtime.bulk import Answers, run_sessions
from costwise.runtime.extractors import Extractors
from costwise.runtime.ledger import Entry, Ledger
from costwise.runtime.session import UNAVAILABLE, Session

__all__ = ["UNAVAILABLE", "Answers", "Entry", "Extractors", "Ledger", "Session", "run_sessions"]

"""What to buy next given what is known, and the answer so far: plain Python and numpy."""

from worthwhile.policy.base import Bundle, Case, Outcome, Policy, run_case
from worthwhile.policy.output import Output
from worthwhile.policy.till import Till
from worthwhile.policy.trees import TreePolicy

__all__ = ["Bundle", "Case", "Outcome", "Output", "Policy", "Till", "TreePolicy", "run_case"]

"""What to buy next given what is known, and the answer so far: plain Python and numpy."""

from costwise.policy.base import Bundle, Case, Outcome, Policy, Till, run_case
from costwise.policy.output import Output
from costwise.policy.tree import TreePolicy

__all__ = ["Bundle", "Case", "Outcome", "Output", "Policy", "Till", "TreePolicy", "run_case"]

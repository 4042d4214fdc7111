"""Ranking metrics, totals of tests and errors, scorers of both, and help with data that come in queries."""

from worthwhile.metrics._queries import irrelevant_weight, query_folds, replicate_irrelevant
from worthwhile.metrics._ranking import ndcg_at_k, precision_at_k, run_precision_at_k
from worthwhile.metrics._scorers import RankingScorer
from worthwhile.metrics._totals import TotalCost, total_costs

__all__ = [
    "RankingScorer",
    "TotalCost",
    "irrelevant_weight",
    "ndcg_at_k",
    "precision_at_k",
    "query_folds",
    "replicate_irrelevant",
    "run_precision_at_k",
    "total_costs",
]

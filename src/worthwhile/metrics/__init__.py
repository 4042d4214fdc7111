"""Ranking metrics, scorers that know queries, and help with data that come in queries."""

from worthwhile.metrics._queries import irrelevant_weight, query_folds, replicate_irrelevant
from worthwhile.metrics._ranking import ndcg_at_k, precision_at_k, run_precision_at_k
from worthwhile.metrics._scorers import RankingScorer

__all__ = [
    "RankingScorer",
    "irrelevant_weight",
    "ndcg_at_k",
    "precision_at_k",
    "query_folds",
    "replicate_irrelevant",
    "run_precision_at_k",
]

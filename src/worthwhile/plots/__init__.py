"""Drawings: frontiers, choices, prices, ledgers, traces, bills, trees; matplotlib is imported to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worthwhile._lazy import lazy

if TYPE_CHECKING:
    from worthwhile.plots.bills import BillsDisplay
    from worthwhile.plots.choice import ChoiceDisplay
    from worthwhile.plots.frontier import FrontierDisplay
    from worthwhile.plots.ledger import LedgerDisplay
    from worthwhile.plots.linear_tree import draw_linear_tree, summarise_linear_tree
    from worthwhile.plots.prices import PricesDisplay
    from worthwhile.plots.purchase_sequence import plot_purchase_sequence, purchase_shares
    from worthwhile.plots.purchases import PurchasesDisplay
    from worthwhile.plots.trace import TraceDisplay

_HOME = {
    "BillsDisplay": ".bills",
    "ChoiceDisplay": ".choice",
    "FrontierDisplay": ".frontier",
    "LedgerDisplay": ".ledger",
    "PricesDisplay": ".prices",
    "PurchasesDisplay": ".purchases",
    "TraceDisplay": ".trace",
    "draw_linear_tree": ".linear_tree",
    "plot_purchase_sequence": ".purchase_sequence",
    "purchase_shares": ".purchase_sequence",
    "summarise_linear_tree": ".linear_tree",
}

__all__ = [
    "BillsDisplay",
    "ChoiceDisplay",
    "FrontierDisplay",
    "LedgerDisplay",
    "PricesDisplay",
    "PurchasesDisplay",
    "TraceDisplay",
    "draw_linear_tree",
    "plot_purchase_sequence",
    "purchase_shares",
    "summarise_linear_tree",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(__name__, _HOME)

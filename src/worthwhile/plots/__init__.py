"""Drawings: frontiers, traces, purchases, bills, trees; matplotlib is imported when something is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worthwhile._lazy import lazy

if TYPE_CHECKING:
    from worthwhile.plots.bills import BillsDisplay
    from worthwhile.plots.frontier import FrontierDisplay
    from worthwhile.plots.linear_tree import draw_linear_tree, summarise_linear_tree
    from worthwhile.plots.purchase_sequence import plot_purchase_sequence, purchase_shares
    from worthwhile.plots.purchases import PurchasesDisplay
    from worthwhile.plots.trace import TraceDisplay

_HOME = {
    "BillsDisplay": ".bills",
    "FrontierDisplay": ".frontier",
    "PurchasesDisplay": ".purchases",
    "TraceDisplay": ".trace",
    "draw_linear_tree": ".linear_tree",
    "plot_purchase_sequence": ".purchase_sequence",
    "purchase_shares": ".purchase_sequence",
    "summarise_linear_tree": ".linear_tree",
}

__all__ = [
    "BillsDisplay",
    "FrontierDisplay",
    "PurchasesDisplay",
    "TraceDisplay",
    "draw_linear_tree",
    "plot_purchase_sequence",
    "purchase_shares",
    "summarise_linear_tree",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(__name__, _HOME)

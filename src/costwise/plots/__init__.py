"""Drawings: frontiers, traces, purchases, bills, trees; matplotlib is imported when something is drawn."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from costwise.plots.bills import BillsDisplay
    from costwise.plots.frontier import FrontierDisplay
    from costwise.plots.linear_tree import draw_linear_tree, summarise_linear_tree
    from costwise.plots.purchase_sequence import plot_purchase_sequence, purchase_shares
    from costwise.plots.purchases import PurchasesDisplay
    from costwise.plots.trace import TraceDisplay

_HOME = {
    "BillsDisplay": "bills",
    "FrontierDisplay": "frontier",
    "PurchasesDisplay": "purchases",
    "TraceDisplay": "trace",
    "draw_linear_tree": "linear_tree",
    "plot_purchase_sequence": "purchase_sequence",
    "purchase_shares": "purchase_sequence",
    "summarise_linear_tree": "linear_tree",
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


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"costwise.plots.{_HOME[name]}"), name)
    raise AttributeError(f"module 'costwise.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

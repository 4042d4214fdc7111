"""Reports: a summary of plain values, a template, one page that opens offline.

The flow is ``summarise`` (a dictionary, tested without a browser) and ``render`` (a template that
knows only that dictionary).
"""

from worthwhile.report._page import render, write_report
from worthwhile.report._summary import summarise

__all__ = ["render", "summarise", "write_report"]

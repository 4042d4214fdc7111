"""Reports: a summary of plain values, a template, one page that opens offline.

The flow is ``summarise`` (a dictionary, tested without a browser; the models it shows are trained and
measured in ``_models``) and ``render`` (a template that knows only that dictionary).
"""

from worthwhile.report._page import check_ready, render, write_report
from worthwhile.report._summary import summarise

__all__ = ["check_ready", "render", "summarise", "write_report"]

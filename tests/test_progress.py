"""Progress bars: silent unless asked for, and at home in notebooks."""

from __future__ import annotations

import sys
import warnings

from worthwhile._progress import progress


def test_nothing_is_shown_unless_asked_for(capsys):
    with progress("trees", 3, shown=False) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_a_notebook_without_widgets_gets_a_line_of_text(capsys, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # rich would ask for ipywidgets, again and again
        with progress("trees", 3) as advance:
            advance(3, "done")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "3/3" in shown.err
    assert "done" in shown.err

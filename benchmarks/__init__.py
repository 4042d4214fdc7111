"""Benchmarks: scripts that print tables, run from a checkout as ``python -m benchmarks.speed.forests``.

- ``speed``: time and memory, beside LightGBM and scikit-learn.
- ``papers``: one script per paper, which writes the page that puts the paper's figures beside ours.
- ``parts``: all methods side by side, peers, the promise of a budget, ranking, dynamic selection.
- ``attack``: the long mode of the attackers in ``tests/attack``.

``common`` is what they share: data from a folder, prices, the machine, Markdown.
"""

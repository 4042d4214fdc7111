"""The methods, a package per family; every file holds only what is that paper's own.

``base`` is what all estimators share, on ``reading``: how tables become numbers and prices, and ``targets``.
What several families use is in ``_shared``.
"""

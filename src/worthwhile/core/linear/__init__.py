"""Kernels of linear models, in the order data flows through them.

1. ``moments`` adds up weighted products of columns (the Gram matrix), block by block of rows.
2. ``fit_gain`` knows what a feature would add to a least-squares fit, ``greedy_selection`` buys the
   most of it per price (Kusner et al. 2014, Section 2).
3. ``coordinate_descent`` solves weighted l1 problems on moments.
4. ``soft_tree`` and ``soft_chain`` give loss and gradient of rows on soft paths through a tree
   (CSTC) or a chain (Cronus) of linear models, ``soft_logistic`` those of a tree with the log loss.
5. ``rows`` computes outputs by the arithmetic of prediction.
"""

"""Kernels that walk rows through trees: predictions and purchases of batches.

``general`` walks any ensemble, with bills and budgets. Two do the same faster where no budget is
given: ``shallow`` evaluates every test of a small tree, ``deep`` takes many rows down one level at a
time. ``staged`` goes stage by stage and lets rows leave in between.
"""

"""Kernels that grow and prune forests of class trees, in the order data flows through them.

1. ``class_data`` holds rows and labels, ``bit_columns`` the two-state columns among them.
2. ``impurity`` says how mixed a node is (Nan, Wang, Saligrama 2015, Section 2), ``draws`` which
   random thresholds it tries.
3. The best stump of a column: ``stumps`` in general, ``pair_gaps`` for the paper's impurity,
   ``few_draws`` for small nodes. ``stump_choice`` takes the one with the least price per impurity.
4. ``greedy_tree`` grows a tree from them (Algorithm 2), ``subtrees`` its small nodes in one call.
5. ``prefix_bills`` bills every prefix of a forest; ``prune_meetings`` says which rows need which
   features at which nodes, the constraints of BudgetPrune's program.
6. A library of feature sets: ``bagged_trees`` grows forests on codes, each tree on a part of the rows
   and asked about the others, with ``random_cuts`` where cuts are random and ``two_class_cuts`` where
   there are two classes; ``node_means`` gives every node an answer; ``boosted_trees`` grows trees that
   correct one another, and says in which order they would buy columns; ``value_cells`` cuts rows by
   what they gain from further sets, ``library_induction`` decides who goes on; ``library_votes`` takes
   batches through the forests.
"""

"""What several families use.

``parameters`` declares what all estimators are given; ``targets`` reads targets of any type,
``weights`` weights of rows and classes, ``validation`` gives validation rows, ``queries`` reads
queries, ``encoding`` knows what the columns of a table are and what a method makes of them;
``covering`` finds the points of a sweep, ``choosing`` takes one of them where nobody said
which, on rows that ``held_out_choice`` holds out, and ``bill_choice`` a bill where points mean
other things on other rows; ``calibration`` makes probabilities of scores, ``calibrated_fit``
such that hold on rows not seen, and ``deciding`` takes decisions where errors have prices;
``proximal`` has the penalty of prices and fees, and the accelerated method that minimises under
it; ``importances`` says what features are worth to a fitted model, ``promises`` what a model
promises about new rows; ``deprecation`` knows old names; ``coded_forests`` grows forests on
sets of columns of one table of codes.
"""

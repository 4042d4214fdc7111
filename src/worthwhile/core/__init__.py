"""The compiled core, numpy and numba only: binning, histograms, splits, growth, walks; moments and greedy selection."""

"""Kernels of dynamic selection.

``oracle_paths`` follows the forward-selection oracle (He, Daumé, Eisner 2012, Section 3) to its end
from many states at once.
"""

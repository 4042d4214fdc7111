"""What a table's columns are, and how their values become numbers.

In the order in which data flow:

- ``table``: frames of pandas, polars and Arrow, and bare arrays, seen alike; columns picked by name;
- ``cells``: the values of one column as a numpy array, or one by one;
- ``column``: what one column is (number, boolean, category, date, ...) and how its values become
  one number each, and words again;
- ``columns``: all columns of a table, learned from training data, as a model file holds them;
- ``statistics``: what a target has to do with the values of a category, without looking at a row's
  own target;
- ``expansion``: the columns that a method works with (one-hot, statistics, parts of dates), made
  from the numbers of the columns that were bought.

Plain arrays and numpy alone: no scikit-learn, no numba, and pandas only if data come in it.
"""

from worthwhile.columns.column import Column, UnknownValue
from worthwhile.columns.columns import Columns
from worthwhile.columns.expansion import Expansion
from worthwhile.columns.table import is_frame

__all__ = ["Column", "Columns", "Expansion", "UnknownValue", "is_frame"]

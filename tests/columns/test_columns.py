"""What columns are, and the numbers that their values become."""

import datetime
import math

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worthwhile.columns import Column, Columns, UnknownValue
from worthwhile.columns.column import MOST_LEVELS, kind_of
from worthwhile.columns.table import dense, dense_columns, places_of, refuse_twice

DAY = datetime.date(1980, 5, 1)
STAMP = datetime.datetime(1980, 5, 1, 13, 30)
SPAN = datetime.timedelta(days=2, hours=6)

SERIES = [
    ("number", [1, 2, 3]),
    ("number", [1.5, None, 3.0]),
    ("boolean", [True, False, True]),
    ("boolean", [True, None, False]),
    ("category", ["a", None, "b"]),
    ("category", ["01", "02", "03"]),  # codes, not numbers
    ("number", ["1", "2.5", None]),  # numerals that a reader left as text
    ("date", [DAY, None, DAY]),
    ("date", [STAMP, None, STAMP]),
    ("duration", [SPAN, None, SPAN]),
    ("time", [datetime.time(13, 30), None, datetime.time(0)]),
]


@pytest.mark.parametrize(("kind", "values"), SERIES)
@pytest.mark.parametrize("library", ["objects", "pandas", "polars", "arrow", "array"])
def test_a_column_is_what_its_values_are_in_every_library(kind, values, library):
    make = {
        "objects": lambda v: pd.Series(v, dtype=object),
        "pandas": pd.Series,
        "polars": polars.Series,
        "arrow": lambda v: pyarrow.chunked_array([pyarrow.array(v)]),
        "array": lambda v: np.array(v, dtype=object),
    }[library]
    series = make(values)
    assert kind_of(series) == kind
    numbers = Column.learn(series).read(series)
    expected = Column.learn(np.array(values, dtype=object)).read(np.array(values, dtype=object))
    np.testing.assert_array_equal(numbers, expected)
    assert np.isnan(numbers[1]) == (values[1] is None)


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["b", "a", None], dtype="category"),
        polars.Series(["b", "a", None], dtype=polars.Categorical),
        polars.Series(["b", "a", None], dtype=polars.Enum(["b", "a"])),
        pyarrow.chunked_array([pyarrow.array(["b", "a", None]).dictionary_encode()]),
    ],
    ids=["pandas", "polars", "enum", "arrow"],
)
def test_categories_of_every_library_have_the_same_codes(series):
    column = Column.learn(series)
    assert column == Column("category", ("a", "b"))
    np.testing.assert_array_equal(column.read(series), [1, 0, np.nan])


def test_ordered_categories_keep_their_order():
    series = pd.Series(pd.Categorical(["low", "high"], ["low", "mid", "high"], ordered=True))
    column = Column.learn(series)
    assert column == Column("ordered", ("low", "mid", "high"))
    assert column.read(series).tolist() == [0, 2]


def test_integers_may_be_said_to_be_a_category():
    X = np.array([[3.0, 0.5], [1.0, 0.5]])
    columns = Columns.learn(X, categorical=[0])
    assert columns[0] == Column("category", (1.0, 3.0))
    assert columns.read(np.array([[1, 7], [9, 7]])).tolist()[0] == [0, 7]
    assert columns[0].told("3.0") == 1  # a terminal knows text alone


def test_too_many_levels_are_pooled_and_the_pool_takes_what_is_new():
    values = [f"v{i:03d}" for i in range(300)] + [f"v{i:03d}" for i in range(290, 300)]
    column = Column.learn(pd.Series(values))
    assert column.other
    assert len(column.levels) == MOST_LEVELS
    assert "v295" in column.levels
    assert "v270" not in column.levels
    assert column.read(pd.Series(["v270", "never seen"])).tolist() == [MOST_LEVELS, MOST_LEVELS]
    assert column.told("never seen") == MOST_LEVELS


def test_what_is_new_counts_as_empty_in_a_batch_and_is_refused_when_told():
    column = Column("category", ("cook", "smith"))
    assert math.isnan(column.read(pd.Series(["baker"]))[0])
    with pytest.raises(
        UnknownValue, match=r"is 'baker', which is not known: give one of 'cook', 'smith'"
    ):
        column.told("baker")


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ("date", "1.5.1980", "a date such as '1980-05-01'"),
        ("time", "noon", "a time of day such as '13:30'"),
        ("duration", "long", "a number of days"),
        ("boolean", "perhaps", "True or False"),
        ("boolean", 2, "True or False"),
        ("date", [1], "a date"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_form_that_can(kind, value, wanted):
    with pytest.raises(UnknownValue, match=wanted):
        Column(kind).told(value)
    assert Column(kind).read(np.array([value, None], dtype=object))[0] == np.inf


@given(st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)))
def test_an_instant_is_the_same_number_from_every_form_and_comes_back(moment):
    column = Column("date")
    forms = [moment, moment.isoformat(), pd.Timestamp(moment), np.datetime64(moment)]
    zoned = moment.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=0)))
    numbers = {column.told(form) for form in [*forms, zoned]}
    numbers |= set(column.read(pd.Series([moment])).tolist())
    numbers |= set(column.read(polars.Series([moment])).tolist())
    assert len(numbers) == 1
    number = numbers.pop()
    shown = datetime.datetime.fromisoformat(column.shown(number))
    assert datetime.timedelta(0) <= moment - shown < datetime.timedelta(milliseconds=1)
    assert column.told(column.shown(number)) == number


def test_a_time_zone_is_taken_off():
    zoned = pd.Series(pd.to_datetime(["2020-01-01T00:00+02:00"]))
    assert Column("date").read(zoned)[0] == Column("date").told("2019-12-31T22:00")


@given(st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers(0, 3)), min_size=1))
def test_batches_and_single_values_agree(values):
    series = pd.Series(values, dtype=object)
    column = Column.learn(series)
    if column.kind != "category":
        return
    numbers = column.read(series)
    for value, number in zip(values, numbers, strict=True):
        assert math.isnan(number) if value is None else column.told(value) == number
    again = Column.from_dict(column.to_dict())
    assert again == column


@pytest.mark.parametrize("kind", ["M8[h]", "M8[D]", "m8[s]"])
def test_an_array_of_dates_or_spans_is_read_as_a_frame_of_them(kind):
    X = np.arange(12).reshape(6, 2).astype(kind)
    X[2, 1] = "NaT"
    columns = Columns.learn(X)
    assert columns == Columns.learn(pd.DataFrame(X))
    assert np.array_equal(columns.read(X), columns.read(pd.DataFrame(X)), equal_nan=True)


def test_numbers_alone_need_no_columns():
    assert Columns.learn(pd.DataFrame({"a": [1, 2], "b": [0.5, None]})) is None
    assert Columns.learn(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})) is None
    assert Columns.learn(np.zeros((2, 2))) is None


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"categorical": ["c"]},
            r"categorical names 'c', which X does not have: its columns are 'a', 'b'",
        ),
        ({"dates": "a"}, r"dates is 'a': give a list of column names"),
        ({"categorical": ["a"], "dates": ["a"]}, r"column 'a' is in categorical and in dates"),
    ],
)
def test_columns_that_are_said_wrongly_are_refused(how, message):
    with pytest.raises(ValueError, match=message):
        Columns.learn(pd.DataFrame({"a": [1], "b": [2]}), **how)


def test_cells_that_are_nothing_we_know_are_refused_by_name():
    with pytest.raises(TypeError, match=r"column 'a' of X holds a dict: columns hold numbers"):
        Columns.learn(pd.DataFrame({"a": [{}], "b": ["text"]}))


def test_training_dates_must_be_readable():
    X = pd.DataFrame({"born": ["1980-05-01", "5/1/80"]})
    columns = Columns.learn(X, dates=["born"])
    with pytest.raises(
        ValueError, match=r"X has '5/1/80' in row 1, column 'born', which cannot be read as a date"
    ):
        columns.read_training(X)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "colour"}, "of kind 'colour'"),
        ({"kind": "category", "levels": ["b", "a"], "other": False}, "not in order"),
        ({"kind": "category", "levels": ["a", "a"], "other": False}, "twice"),
        ({"kind": "category", "levels": [math.inf], "other": False}, "finite"),
        ({"kind": "category", "levels": [["a"]], "other": False}, "text or numbers"),
        (
            {"kind": "category", "levels": [f"{i:03d}" for i in range(255)], "other": False},
            "at most",
        ),
        ({"kind": "date", "levels": ["a"], "other": False}, "has no levels"),
        ({"kind": "category", "levels": ["a"]}, "not {kind}"),
        ({"kind": "category", "levels": "ab", "other": False}, "not a list"),
    ],
)
def test_hostile_columns_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        Column.from_dict(data)


def test_columns_are_found_by_name_and_missing_ones_refused_by_name():
    X = pd.DataFrame({"b": [1], "more": [2], "a": [3]})
    assert places_of(X, ["a", "b", "c"], [0, 1]) == [2, 0, None]
    with pytest.raises(
        ValueError, match=r"X has no column 'c', which the model may read.*unavailable=\['c'\]"
    ):
        places_of(X, ["a", "b", "c"], [0, 2])
    assert places_of(X, ["a", "b", "c"], [0, 2], absent=[2]) == [2, 0, None]
    with pytest.raises(ValueError, match=r"X has the column 'a' twice"):
        places_of(pd.DataFrame([[1, 2]], columns=["a", "a"]), ["a"], [0])


def test_sparse_matrices_become_dense_where_they_fit():
    from scipy.sparse import csr_matrix

    X = csr_matrix(np.eye(3))
    assert dense(X).tolist() == np.eye(3).tolist()
    with pytest.raises(
        ValueError, match=r"X is sparse, and as a dense array of 3 x 3 it would take"
    ):
        dense(X, most_bytes=10)


@pytest.mark.parametrize("filling", [0.0, np.nan])
def test_sparse_columns_of_pandas_are_as_others(filling):
    frame = pd.DataFrame({"a": [filling, 1.0, 2.0], "b": ["x", "y", "x"]})
    sparse = frame.astype({"a": pd.SparseDtype(float, filling)})
    pd.testing.assert_frame_equal(dense_columns(sparse), frame)
    assert sparse["a"].dtype != float, "the caller's frame stays as it is"
    assert dense_columns(frame) is frame


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame(np.zeros((2, 3)), columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="two columns named 'a': rename one"):
        refuse_twice(frame)
    refuse_twice(frame.iloc[:, :2])


@pytest.mark.parametrize("pieces", [1, 3])
def test_ordered_categories_of_arrow_keep_their_order(pieces):
    frame = pd.DataFrame(
        {"size": pd.Categorical(["big", "small", None] * 5, ["small", "big"], ordered=True)}
    )
    table = pyarrow.Table.from_pandas(frame)
    step = len(frame) // pieces
    table = pyarrow.concat_tables([table.slice(k, step) for k in range(0, len(frame), step)])
    columns = Columns.learn(table)
    assert columns == Columns.learn(frame)
    assert (columns[0].kind, columns[0].levels) == ("ordered", ("small", "big"))
    np.testing.assert_array_equal(columns.read(table), columns.read(frame))

"""Files as people have them: what is noticed about a table, and what is said about its columns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import worthwhile
from worthwhile.cli import _tables, app
from worthwhile.cli._layout import notice
from worthwhile.cli._profile import find_dates, profile

runner = CliRunner()


def run(*words, code=0):
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    return result


def read(path, **how):
    return pd.concat(_tables.read_chunks(path, **how), ignore_index=True)


# Numbers as people write them -------------------------------------------------------------------

NUMBERS = {
    "points": (",", ["1.5", "2.25", "1234"], (".", ""), [1.5, 2.25, 1234]),
    "commas": (";", ["1,5", "2,25", "1234"], (",", ""), [1.5, 2.25, 1234]),
    "thousands with points": (";", ["1.234,5", "1.000", "7"], (",", "."), [1234.5, 1000, 7]),
    "many thousands": (";", ["1.234.567", "8", "9"], (",", "."), [1234567, 8, 9]),
    "thousands with commas": (",", ['"1,234.5"', '"1,000"', "7"], (".", ","), [1234.5, 1000, 7]),
    "thousands with spaces": (";", ["1 234,5", "1 000", "7"], (",", " "), [1234.5, 1000, 7]),
    "a comma before three digits": (";", ["1,234", "2,345", "7"], (",", ""), [1.234, 2.345, 7]),
    "the same in a file with commas": (",", ['"1,234"', '"2,345"', "7"], (".", ","), [1234, 2345, 7]),
    "a point before three digits": (";", ["1.234", "2.345", "7"], (".", ""), [1.234, 2.345, 7]),
    "exponents": (";", ["1,5e3", "2e-1", "7"], (",", ""), [1500, 0.2, 7]),
    "signs": (";", ["-1,5", "+2", "-1.000,5"], (",", "."), [-1.5, 2, -1000.5]),
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_read_as_they_are_meant(tmp_path, kind):
    separator, cells, marks, numbers = NUMBERS[kind]
    path = tmp_path / "data.csv"
    path.write_text(
        f"x{separator}y\n" + "".join(f"{cell}{separator}a\n" for cell in cells), encoding="utf-8"
    )
    layout = notice(path)
    assert (layout.decimal, layout.grouping) == marks
    assert layout.separator == separator
    assert read(path)["x"].tolist() == pytest.approx(numbers)


def test_dates_with_points_are_no_numbers(tmp_path):
    (tmp_path / "d.csv").write_text("x;y\n1.234,5;01.05.1980\n2.345;02.05.1980\n")
    frame = read(tmp_path / "d.csv")
    assert frame["y"].tolist() == ["01.05.1980", "02.05.1980"]
    assert frame["x"].tolist() == [1234.5, 2345]


cells = st.floats(-1e6, 1e6).map(lambda x: round(x, 2)) | st.floats(1e-3, 1e-2)


@settings(deadline=None)
@given(st.lists(cells, min_size=1, max_size=30), st.sampled_from([",", ";", "\t", "|"]))
def test_a_table_written_with_points_is_read_back(tmp_path_factory, values, separator):
    path = tmp_path_factory.mktemp("points") / "t.csv"
    pd.DataFrame({"x": values, "t": "a b"}).to_csv(path, sep=separator, index=False)
    assert read(path)["x"].tolist() == values


@settings(deadline=None)
@given(st.lists(cells, min_size=1, max_size=30), st.sampled_from([";", "\t", "|"]))
def test_a_table_written_with_commas_is_read_back(tmp_path_factory, values, separator):
    path = tmp_path_factory.mktemp("commas") / "t.csv"
    pd.DataFrame({"x": values, "t": "a b"}).to_csv(path, sep=separator, decimal=",", index=False)
    # Only points before three digits might be taken for thousands, and there are none.
    assert read(path)["x"].tolist() == values


def test_letters_behind_the_first_block_decide_the_encoding(tmp_path):
    path = tmp_path / "late.csv"
    path.write_bytes(b"x,y\n" + b"1,abc\n" * 300_000 + "2,s\u00ed\n".encode("cp1252"))
    assert notice(path).foreign_line == 300_002
    assert read(path)["y"].iloc[-1] == "s\u00ed"
    path.write_bytes(b"x,y\n" + b"1,abc\n" * 300_000 + "2,s\u00ed\n".encode())
    assert notice(path).encoding == "utf-8"


def test_a_letter_across_two_blocks_is_utf8(tmp_path):
    path = tmp_path / "across.csv"
    start = b"x,y\n1,"
    path.write_bytes(start + b"a" * (2**20 - len(start) - 1) + "\u00ed".encode() + b"\n")
    assert notice(path).encoding == "utf-8"


def test_true_false_and_empty_stay_what_they_are(tmp_path):
    (tmp_path / "b.csv").write_text("x,y\nTrue,1\n,2\nFalse,3\n")
    column = read(tmp_path / "b.csv")["x"]
    assert column.dtype == "boolean"
    assert column.isna().tolist() == [False, True, False]


def test_true_in_one_chunk_and_1_in_another_are_text(tmp_path, monkeypatch):
    monkeypatch.setattr(_tables.read_chunks, "__defaults__", (2,))
    (tmp_path / "b.csv").write_text("x,y\nTrue,1\nFalse,2\n1,3\n0,4\n")
    frame, _ = _tables.read_sample(tmp_path / "b.csv", 0, 0)
    assert frame["x"].tolist() == ["True", "False", "1", "0"]


# Arrow --------------------------------------------------------------------------------------------

TABLE = pd.DataFrame(
    {
        "n": [1.5, np.nan, 3.0],
        "t": ["a b", None, "c"],
        "c": pd.Categorical(["u", "v", "u"]),
        "d": pd.to_datetime(["2020-01-01", "2021-05-06", None]),
        "b": pd.array([True, None, False], dtype="boolean"),
    }
)


def write_arrow(path, table, *, stream=False):
    import pyarrow as pa

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as sink, make(sink, arrow.schema) as writer:
        writer.write_table(arrow, max_chunksize=2)


@pytest.mark.parametrize("kind", ["arrow", "feather", "arrows", "parquet"])
def test_typed_files_keep_their_types(tmp_path, kind):
    path = tmp_path / f"data.{kind}"
    if kind == "parquet":
        TABLE.to_parquet(path, index=False)
    elif kind == "feather":
        TABLE.to_feather(path)
    else:
        write_arrow(path, TABLE, stream=kind == "arrows")
    frame, total = _tables.read_sample(path, 0, 0)
    assert total == 3
    for name in "ntdb":
        assert frame[name].isna().tolist() == TABLE[name].isna().tolist()
        assert frame[name].dropna().tolist() == TABLE[name].dropna().tolist()
    assert frame["d"].dtype.kind == "M"
    assert isinstance(frame["c"].dtype, pd.CategoricalDtype)
    assert [len(part) for part in _tables.read_chunks(path, 1)] == [1, 1, 1]


def test_an_arrow_file_is_known_by_its_content(tmp_path):
    TABLE.to_feather(tmp_path / "data.csv")
    assert read(tmp_path / "data.csv")["n"].tolist()[::2] == [1.5, 3.0]


@pytest.mark.parametrize("kind", ["arrow", "feather", "arrows"])
def test_damaged_arrow_files_are_refused(tmp_path, kind):
    path = tmp_path / f"data.{kind}"
    write_arrow(path, TABLE, stream=kind == "arrows")
    whole = path.read_bytes()
    for content in (whole[:200], b"x,y\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"Arrow .*that can be read"):
            read(path)


def test_days_are_dates(tmp_path):
    days = pd.DataFrame({"d": [pd.Timestamp("2020-02-01").date()] * 2})
    days.to_parquet(tmp_path / "d.parquet")
    assert read(tmp_path / "d.parquet")["d"].dtype.kind == "M"


# What columns hold --------------------------------------------------------------------------------


def test_text_that_is_dates_throughout_becomes_dates():
    frame = pd.DataFrame(
        {
            "iso": ["2020-01-31", None, "2020-02-01 10:30"],
            "dotted": ["31.01.2020", "1.2.2020", None],
            "some": ["2020-01-31", "x", "2020-02-01"],
            "no day": ["2020-02-31", "2020-01-01", None],
            "number": [1, 2, 3],
        }
    )
    found = find_dates(frame)
    assert found["iso"].iloc[0] == pd.Timestamp("2020-01-31")
    assert found["dotted"].tolist()[:2] == [pd.Timestamp("2020-01-31"), pd.Timestamp("2020-02-01")]
    assert found[["some", "no day", "number"]].equals(frame[["some", "no day", "number"]])
    assert list(found.columns) == list(frame.columns)


WORDS = {
    "number": ([1, 2, 2, None, 30], "number, 3 values: 1 to 30, 1 empty"),
    "text": (["b", "a", "a", "c", None], "text, 3 values: 'a', 'b', 'c', 1 empty"),
    "many": ([f"a{i % 6}" for i in range(12)], "text, 6 values: 'a0', 'a1', 'a2', 'a3', ..."),
    "id": ([f"a{i}" for i in range(9)], "different in every row: is it an id?"),
    "same": (["a", "a"], "text, 1 value: 'a'; always the same"),
    "empty": ([None, None], "empty, 0 values, 2 empty; there is nothing in it"),
    "true or false": ([True, False], "true or false, 2 values: 'False', 'True'"),
    "dates": (pd.to_datetime(["2020-01-31", "2020-02-01"]), "2020-01-31 to 2020-02-01"),
    "category": (pd.Categorical(["a", "b", "a"]), "category, 2 values: 'a', 'b'"),
}
PROBLEMS = {
    "infinite": ([1.0, np.inf], "an infinite value"),
    "nested": ([[1], [2]], "values such as [1]: give a number, text or a date in each row"),
    "mixed": (["1", "2", "?", "4"], "text such as '?' in 1 of 4 rows and numbers in the others"),
    "commas": (["1.5", "2,5"], "'2,5' beside numbers with a decimal point"),
    "slashes": (["1/2/2020", "3/4/2020"], "of which day and month cannot be told apart"),
}


@pytest.mark.parametrize("kind", WORDS)
def test_a_column_is_described_in_one_line(kind):
    values, words = WORDS[kind]
    (column,) = profile(pd.DataFrame({"x": values}))
    assert words in column.describe()
    assert not column.problems


@pytest.mark.parametrize("kind", PROBLEMS)
def test_problems_of_a_column_are_named(kind):
    values, words = PROBLEMS[kind]
    (column,) = profile(pd.DataFrame({"x": values}))
    assert words in " ".join(column.problems)
    assert words in column.describe()
    (called,) = profile(pd.DataFrame({"x": values}), categorical=["x"])
    assert bool(called.problems) == (kind in ("infinite", "nested"))


@pytest.fixture
def table(tmp_path):
    """A table with one problem in each of three columns."""
    frame = pd.DataFrame(
        {
            "age": [20, 30, 40, 50],
            "color\nof: hair": ["red", "b # l", "red", None],
            "mixed": ["1", "2", "?", "4"],
            "far": [1.0, 2.0, np.inf, 4.0],
            "ill": ["yes", "no", "yes", "no"],
        }
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def test_costs_new_writes_what_it_found_beside_each_price(table):
    done = run("costs", "new", table / "data.csv", "--target", "ill", "-o", table / "c.yaml")
    assert "2 of them need mending first" in " ".join(done.stderr.split())
    text = (table / "c.yaml").read_text()
    assert "  age: 1  " in text
    assert "# number, 4 values: 20 to 50\n" in text
    assert "# text, 2 values: 'red', 'b # l', 1 empty\n" in text
    costs = worthwhile.Costs.from_yaml(table / "c.yaml")
    assert costs.features == ("age", "color\nof: hair", "mixed", "far")
    assert costs.total == 4


def test_costs_check_lists_every_problem_of_every_column_at_once(table):
    (table / "c.yaml").write_text("features:\n  agge: 1\n  mixed: 2\n  far: 1\n")
    done = run(
        "costs", "check", table / "c.yaml", "--data", table / "data.csv", "--target", "ill", code=2
    )
    lines = done.stderr.splitlines()
    for words in (
        "'agge': has a price, but", "is 'age' meant?", "'age': no price in", "'mixed': text such as '?'",
        "'far': an infinite value", "'color\\nof: hair': no price in",
    ):  # fmt: skip
        assert sum(words in line for line in lines) == 1, words
    assert "5 problems to mend" in lines[-1]


def test_costs_check_shows_what_the_data_has(table):
    data = pd.read_csv(table / "data.csv")[["age", "ill"]]
    data.to_csv(table / "few.csv", index=False)
    (table / "c.yaml").write_text("features:\n  age: 1\n")
    words = ("costs", "check", table / "c.yaml", "--data", table / "few.csv", "--target", "ill")
    assert "20 to 50" in " ".join(run(*words).stdout.split())
    assert json.loads(run(*words, "--json").stdout)["total"] == 1


def test_fit_names_all_columns_that_nothing_can_be_learnt_from(table):
    done = run(
        "fit", table / "data.csv", "--target", "ill", "--budget", 2, "-o", table / "m", code=2
    )
    said = " ".join(done.stderr.split())
    assert "column 'mixed' has text such as '?' in 1 of 4 rows" in said
    assert "column 'far' has an infinite value" in said


# Predictions --------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path):
    """Three classes, a column with a space in its name, ids with zeros."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"my age": rng.normal(size=60), "b": rng.normal(size=60)})
    y = np.array(["lo w", "mid", "hi"])[np.digitize(frame["my age"], [-0.5, 0.5])]
    worthwhile.GreedyMiserClassifier(n_rounds=5, min_samples_leaf=5).fit(frame, y).save(
        tmp_path / "m"
    )
    frame.insert(0, "case", [f"{i:03d}" for i in range(60)])
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def test_predict_writes_ids_probabilities_of_all_classes_the_bill_and_what_was_bought(model):
    run("predict", model / "m", model / "data.csv", "-o", model / "p.csv", "--id", "case")
    written = pd.read_csv(model / "p.csv", dtype={"case": str})
    fitted, X = worthwhile.load(model / "m"), pd.read_csv(model / "data.csv").drop(columns="case")
    assert list(written) == ["case", "prediction", "P(hi)", "P(lo w)", "P(mid)", "cost", "bought"]
    assert written["case"].tolist() == [f"{i:03d}" for i in range(60)]
    shares = written[["P(hi)", "P(lo w)", "P(mid)"]].to_numpy()
    np.testing.assert_array_equal(shares, fitted.predict_proba(X))
    bought = [set(json.loads(text)) for text in written["bought"]]
    names = fitted.costs_.features
    assert bought == [
        {n for n, b in zip(names, row, strict=True) if b} for row in fitted.acquired(X)
    ]
    run("predict", model / "m", model / "data.csv", "-o", model / "q.csv", "--no-bought")
    assert "bought" not in pd.read_csv(model / "q.csv")


def test_predict_refuses_ids_that_are_not_there_or_in_the_way(model):
    words = ("predict", model / "m", model / "data.csv", "-o", model / "p.csv", "--id")
    said = " ".join(run(*words, "kase", code=2).stderr.split())
    assert "--id is 'kase', and" in said
    assert "has no such column" in said
    data = pd.read_csv(model / "data.csv").rename(columns={"case": "cost"})
    data.to_csv(model / "data.csv", index=False)
    said = " ".join(run(*words, "cost", code=2).stderr.split())
    assert "which the output has as a column of its own" in said
    assert not (model / "p.csv").exists()

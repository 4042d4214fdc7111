"""Files for the command line as people have them: read as one would expect, or refused in one paragraph."""

from __future__ import annotations

import bz2
import datetime
import decimal
import gzip
import io
import lzma
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

import worthwhile
from worthwhile.cli import app

runner = CliRunner()
ROWS = [(20 + i, i / 4, "yes" if i % 3 else "no") for i in range(24)]
TEXT = "age,chol,ill\n" + "".join(f"{age},{chol},{ill}\n" for age, chol, ill in ROWS)
TABLE = pd.DataFrame(ROWS, columns=["age", "chol", "ill"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that reads both columns, and what it says about the plain table."""
    folder = tmp_path_factory.mktemp("tables")
    model = worthwhile.CostWeightedL1Classifier(1e-9, costs={"age": 1, "chol": 2})
    model.fit(TABLE[["age", "chol"]].astype(float), TABLE["ill"]).save(folder / "model")
    assert model.policy_.reads.tolist() == [0, 1]
    (folder / "plain.csv").write_text(TEXT)
    run("predict", folder / "model", folder / "plain.csv", "-o", folder / "plain.out")
    return folder


def run(*words, code=0):
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.stderr.strip()


def refusals(folder, tmp_path, path):
    """What the commands say about a file that none of them can use."""
    fit = ("--target", "ill", "--budget", 2, "--method", "cost-weighted-l1", "-o", tmp_path / "m")
    said = [
        run("predict", folder / "model", path, "-o", tmp_path / "p.csv", code=2),
        run("fit", path, *fit, code=2),
    ]
    assert not (tmp_path / "m").exists()
    assert not (tmp_path / "p.csv").exists()
    refused = []
    for text in said:
        noticed, error, reason = text.rpartition("Error: ")
        assert error
        assert len(noticed.strip().splitlines()) <= 1, "what was noticed stands on one line above"
        assert "\n" not in reason
        assert len(reason) < 1200
        refused.append(reason)
    return refused


GERMAN = TEXT.replace(",", ";").replace(".", ",")
AS_EXPECTED = {
    "byte order mark": (b"\xef\xbb\xbf" + TEXT.encode(), "UTF-8"),
    "byte order mark before a quote": (
        b"\xef\xbb\xbf" + TEXT.replace("age", '"age"').encode(),
        "UTF-8",
    ),
    "CRLF": (TEXT.replace("\n", "\r\n").encode(), ""),
    "CR": (TEXT.replace("\n", "\r").encode(), ""),
    "semicolons": (TEXT.replace(",", ";").encode(), "separated by semicolons"),
    "tabs": (TEXT.replace(",", "\t").encode(), "separated by tabs"),
    "bars": (TEXT.replace(",", "|").encode(), "separated by bars"),
    "semicolons, and commas in a name": (
        GERMAN.replace("ill", "ill, or not").encode(),
        "separated by semicolons; decimal commas",
    ),
    "decimal commas": (GERMAN.encode(), "separated by semicolons; decimal commas"),
    "decimal commas in quotes": (
        re.sub(r"(\d+)\.(\d+)", r'"\1,\2"', TEXT).encode(),
        "decimal commas",
    ),
    "spaces behind separators": (TEXT.replace(",", ", ").encode(), "spaces behind separators"),
    "Latin-1": (
        TEXT.replace("yes", "s\xed").encode("latin-1"),
        "not UTF-8 (line 3), read as cp1252",
    ),
    "cp1252": (TEXT.replace("yes", "5 \u20ac").encode("cp1252"), "not UTF-8 (line 3)"),
    "UTF-16": (TEXT.encode("utf-16"), "UTF-16"),
    "UTF-16 of the other end, with tabs": (
        b"\xfe\xff" + TEXT.replace(",", "\t").encode("utf-16-be"),
        "UTF-16; separated by tabs",
    ),
    "gzip": (gzip.compress(TEXT.encode()), "gzip"),
    "gzip of UTF-16": (gzip.compress(TEXT.encode("utf-16")), "gzip; UTF-16"),
    "gzip of Latin-1": (gzip.compress(GERMAN.replace("yes", "s\xed").encode("latin-1")), "gzip"),
    "bzip2": (bz2.compress(TEXT.encode()), "bzip2"),
    "xz": (lzma.compress(TEXT.encode()), "xz"),
    "blank lines": (TEXT.replace("\n", "\n\n").replace("age", "\n \nage").encode(), ""),
    "separators at line ends": (TEXT.replace("\n", ",\n").encode(), ""),
    "quoted newlines": (TEXT.replace("yes", '"y\ne""s"').encode(), ""),
    "very long text in a column that is not read": (
        TEXT.replace("yes", "y" * 10**6).encode(),
        "",
    ),
    "no newline at the end": (TEXT.rstrip("\n").encode(), ""),
}


@pytest.mark.parametrize("kind", AS_EXPECTED)
def test_is_read_as_expected_and_says_what_it_noticed(folder, tmp_path, kind):
    content, noticed = AS_EXPECTED[kind]
    path = tmp_path / ("data.csv.gz" if "gzip" in kind else "data.csv")
    path.write_bytes(content)
    said = run("predict", folder / "model", path, "-o", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == (folder / "plain.out").read_text()
    assert said.startswith(f"{path.name}: {noticed}" if noticed else "Wrote")
    target = "ill, or not" if "name" in kind else "ill"
    run("costs", "new", path, "--target", target, "-o", tmp_path / "c.yaml")
    assert worthwhile.Costs.from_yaml(tmp_path / "c.yaml").features == ("age", "chol")


def longer(line, by):
    lines = TEXT.splitlines()
    lines[line] += by
    return "\n".join(lines).encode()


REFUSED = {
    "a decimal comma among points": (
        TEXT.replace("0.25", '"0,25"'),
        ["'0,25'", "'chol' has '0,25' beside numbers with a decimal point"],
    ),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), 2 * ["NUL bytes"]),
    "NUL": (TEXT.replace("21", "2\x001"), 2 * ["NUL bytes"]),
    "very long text": (TEXT.replace("0.25", "x" * 10**6), ["'xxx", "column 'chol' has text"]),
    "text among numbers": (TEXT.replace("0.25", "?"), ["'?'", "text such as '?' in 1 of 24 rows"]),
    "open quote": (TEXT.replace("0.25", '"0.25'), 2 * ["EOF inside string starting at row 2"]),
    "quote that eats lines": (
        TEXT.replace("21,", '"21,').replace("2.0,", '"2.0",'),
        2 * ["line 10 of"],
    ),
    "long line": (longer(9, ",7"), 2 * ["Expected 3 fields in line 10, saw 4"]),
    "long first line": (longer(1, ",7"), 2 * ["Expected 3 fields in line 2, saw 4"]),
    "long lines": (
        TEXT.replace("\n", ",7\n").replace("ill,7", "ill"),
        2 * ["Expected 3 fields in line 2, saw 4"],
    ),
    "short line": (TEXT + "3,4\n", ["line 26 of", "has 2 cells, the header has 3"]),
    "empty": (b"", 2 * ["is empty"]),
    "empty, packed": (gzip.compress(b""), 2 * ["is empty"]),
    "blank": (b"\n\n \n", 2 * ["is empty"]),
    "only a header": (b"age,chol,ill\n", 2 * ["has no rows"]),
    "one name twice": (TEXT.replace("chol", "age"), 2 * ["two columns named 'age'"]),
    "a column without a name": (TEXT.replace("age", ""), 2 * ["column 1 of"]),
    "row numbers of pandas": (TABLE.to_csv(), 2 * ["to_csv(index=False)"]),
    "Latin-1 behind a mark of UTF-8": (
        b"\xef\xbb\xbf" + TEXT.replace("yes", "s\xed").encode("latin-1"),
        2 * ["not text in UTF-8 (line 3)"],
    ),
    "UTF-16 cut off": (TEXT.encode("utf-16")[:-1], 2 * ["not text in UTF-16, though it begins so"]),
    "bytes": (bytes(range(1, 256)) * 9, 2 * ["not text in UTF-8"]),
    "picture": (b"\x89PNG\r\n\x1a\n\x00\x00\x00", 2 * ["NUL bytes"]),
    "workbook": (b"PK\x03\x04" + bytes(99), 2 * ["a zip archive or a workbook"]),
    "gzip cut off": (gzip.compress(TEXT.encode())[:-20], 2 * ["packed and damaged"]),
    "gzip with another sum": (
        gzip.compress(TEXT.encode())[:-8] + bytes(4) + gzip.compress(TEXT.encode())[-4:],
        2 * ["packed and damaged"],
    ),
    "bzip2 with a hole": (
        bz2.compress(TEXT.encode())[:40] + bytes(9) + bz2.compress(TEXT.encode())[49:],
        2 * ["packed and damaged"],
    ),
    "gzip with a hole": (
        gzip.compress(TEXT.encode())[:30] + bytes(9) + gzip.compress(TEXT.encode())[39:],
        2 * ["packed and damaged"],
    ),
    "NUL far away": (TEXT + "1,2,yes\n" * 10**6 + "1,\x00,yes\n", 2 * ["NUL bytes"]),
    "infinite": (TEXT.replace("0.25", "1e999"), 2 * ["infinite value"]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_is_refused_in_one_paragraph(folder, tmp_path, kind):
    content, words = REFUSED[kind]
    path = tmp_path / "data.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for text, expected in zip(refusals(folder, tmp_path, path), words, strict=True):
        assert expected in text


def test_short_lines_far_from_the_start_are_found(tmp_path, monkeypatch):
    from worthwhile.cli import _tables

    monkeypatch.setattr(_tables.read_chunks, "__defaults__", (5,))
    (tmp_path / "data.csv").write_text(TEXT + "50,\n")
    with pytest.raises(ValueError, match=r"line 26 of .* has 2 cells"):
        list(_tables.read_chunks(tmp_path / "data.csv"))
    (tmp_path / "data.csv").write_text(TEXT + "50,,\n\n  \n51,,\n")
    assert sum(map(len, _tables.read_chunks(tmp_path / "data.csv"))) == len(ROWS) + 2


def test_all_commands_refuse_alike(folder, tmp_path):
    (tmp_path / "short.csv").write_text(TEXT + "3,4\n")
    for words in (
        ("costs", "new", tmp_path / "short.csv", "-o", tmp_path / "c.yaml"),
        ("compare", tmp_path / "short.csv", "--target", "ill"),
        ("report", tmp_path / "short.csv", "--target", "ill", "-o", tmp_path / "r.html"),
    ):
        assert "line 26 of" in run(*words, code=2)
    for path, words in ((tmp_path, "is a folder"), (tmp_path / "none.csv", "no file")):
        assert all(words in text for text in refusals(folder, tmp_path, path))
    said = run("costs", "new", folder / "plain.csv", "--target", "il", "-o", tmp_path / "c", code=2)
    assert "no column 'il'" in said
    assert [path.name for path in tmp_path.iterdir()] == ["short.csv"]


# Parquet -----------------------------------------------------------------------------------------


def parquet(frame):
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False)
    return stream.getvalue()


DAY = datetime.date(2020, 1, 1)
NESTED = {"list": [[1, 2]] * 24, "struct": [{"a": 1}] * 24}
KINDS = {
    "time stamp": pd.Series([pd.Timestamp(DAY), pd.Timestamp("2021-05-06")] * 12),
    "time stamp or nothing": pd.Series([pd.Timestamp(DAY), pd.NaT] * 12),
    "zoned": pd.Series([pd.Timestamp("2020-01-01", tz="UTC")] * 24),
    "span": pd.Series([pd.Timedelta(1, "D")] * 24),
    "day": [DAY] * 24,
    "category": pd.Categorical(["a", "b"] * 12),
    "text": ["a", "b"] * 12,
}


@pytest.mark.parametrize("kind", NESTED | KINDS)
def test_columns_of_other_kinds_are_learnt_from_or_refused_by_name(folder, tmp_path, kind):
    values = (NESTED | KINDS)[kind]
    path, model = tmp_path / "data.parquet", tmp_path / "m"
    fit = (
        "fit",
        path,
        "--target",
        "ill",
        "--budget",
        9,
        "--method",
        "cost-weighted-l1",
        "-o",
        model,
    )
    path.write_bytes(parquet(TABLE.assign(chol=values)))
    predict = ("predict", folder / "model", path, "-o", tmp_path / "p.csv")
    assert "feature 'chol', which the model reads: not a number" in run(*predict, code=2)
    if kind in NESTED:
        assert "column 'chol' has values such as" in run(*fit, code=2)
    else:
        run(*fit)
        run("predict", model, path, "-o", tmp_path / "own.csv")
        assert len(pd.read_csv(tmp_path / "own.csv")) == 24
    if kind not in ("category", "text"):  # labels may well be categories
        path.write_bytes(parquet(TABLE.assign(ill=values)))
        assert "column 'ill' has" in run(*fit, "--force", code=2)
    # What the model does not read may be of any kind.
    path.write_bytes(parquet(TABLE.assign(more=values)))
    run("predict", folder / "model", path, "-o", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == (folder / "plain.out").read_text()


@pytest.mark.parametrize(
    "chol",
    [
        [decimal.Decimal(i) / 4 for i in range(24)],
        pd.Categorical(TABLE["chol"]),
        TABLE["chol"].astype("Float32"),
    ],
    ids=["decimal", "dictionary", "nullable"],
)
def test_numbers_of_other_types_are_read(folder, tmp_path, chol):
    path = tmp_path / "data.parquet"
    path.write_bytes(parquet(TABLE.assign(chol=chol)))
    run("predict", folder / "model", path, "-o", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == (folder / "plain.out").read_text()


def test_damaged_parquet_is_refused(folder, tmp_path):
    path, whole = tmp_path / "data.parquet", parquet(TABLE)
    for content in (whole[:-1], whole[:200], b"", TEXT.encode(), b"PAR1" + whole[40:]):
        path.write_bytes(content)
        assert all("not a Parquet file" in said for said in refusals(folder, tmp_path, path))
    path.write_bytes(parquet(TABLE[:0]))
    assert all("has no rows" in said for said in refusals(folder, tmp_path, path))


def test_parquet_is_known_by_its_content(folder, tmp_path):
    (tmp_path / "data.csv").write_bytes(parquet(TABLE))
    run("predict", folder / "model", tmp_path / "data.csv", "-o", tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == (folder / "plain.out").read_text()


# Prices ------------------------------------------------------------------------------------------

LAUGHS = "\n".join(
    f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in zip("abcdef", "bcdefg", strict=True)
)
PRICES = {
    "deep": ("features: " + "{a: " * 10**5, "nested more than 8 deep"),
    "deep lists": ("[" * 10**5, "nested more than 8 deep"),
    "deep blocks": ("\n".join(" " * i + "a:" for i in range(300)), "nested more than 8 deep"),
    "a billion laughs": (f"a: &a [ha]\n{LAUGHS}\n", "unknown field 'a'"),
    "laughs as a price": ("features:\n  a: &a [ha, ha]\n  b: [*a, *a]\n", "line 2"),
    "an alias of itself": ("features: &a\n  x: *a\n", "line"),
    "twice": ("features:\n  a: 1\n  a: 2\n", "line 3: 'a' is given twice"),
    "NaN": ("features:\n  a: .nan\n", "line 2: price of 'a' is '.nan'"),
    "nan": ("features:\n  a: nan\n", "line 2: price of 'a' is NaN"),
    "infinite": ("features:\n  a: inf\n", "line 2: price of 'a' is Infinity"),
    "negative": ("features:\n  a: -0.01\n", "line 2: price of 'a' is -0.01"),
    "huge": ("features:\n  a: 1e999999\n", "line 2"),
    "tiny": ("features:\n  a: 1e-999999\n", "line 2"),
    "long": ("features:\n  a: " + "9" * 10**6 + "\n", "line 2"),
    "Latin-1": ("features:\n  \u00e2ge: 1\n".encode("latin-1"), "not a text file in UTF-8"),
    "UTF-16": ("features:\n  a: 1\n".encode("utf-16"), "not a text file in UTF-8"),
    "NUL": ("features:\n  a\x00: 1\n", "not valid YAML"),
    "code": ("features: !!python/object/apply:os.system [ls]\n", "features must be"),
    "two documents": ("features:\n  a: 1\n---\nfeatures:\n  b: 1\n", "not valid YAML"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PRICES)
def test_bad_prices_are_refused_in_one_paragraph(tmp_path, kind):
    content, words = PRICES[kind]
    path = tmp_path / "costs.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = run("costs", "check", path, code=2)
    assert words in said
    assert "\n" not in said
    assert len(said) < 1200

"""Ranking data as text: what is written is read back, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile.datasets import make_yahoo_like, read_svmlight, write_svmlight


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=6, max_size=6),
    st.integers(0, 1),
)
@settings(max_examples=30, deadline=None)
def test_values_come_back_to_the_bit(tmp_path_factory, values, first):
    path = tmp_path_factory.mktemp("svmlight") / "some.txt"
    X = np.array(values).reshape(3, 2)
    write_svmlight(path, X, [0, 1.5, 4], [3, 3, 9], first=first)
    back, y, qid = read_svmlight(path, 2, first=first)
    assert np.array_equal(back, X)
    assert y.tolist() == [0, 1.5, 4]
    assert qid.tolist() == [3, 3, 9]


@pytest.mark.parametrize("name", ["data.txt", "data.txt.gz"])
def test_generated_data_come_back(tmp_path, name):
    X, y, qid, _ = make_yahoo_like(60, seed=0)
    write_svmlight(tmp_path / name, X, y, qid)
    back, grades, queries = read_svmlight(tmp_path / name, 519, dtype=np.float32)
    assert back.dtype == np.float32
    assert np.array_equal(back, X)
    assert np.array_equal(grades, y)
    assert np.array_equal(queries, qid)


def test_published_lines_are_read(tmp_path):
    path = tmp_path / "letor.txt"
    path.write_text("2 qid:10032 1:0.05 3:0.6 #docid = GX029\n0 qid:10032 2:1\n1 qid:7 1:0\n")
    X, _, qid = read_svmlight(path)
    assert X.tolist() == [[0.05, 0, 0.6], [0, 1, 0], [0, 0, 0]]
    assert qid.tolist() == [10032, 10032, 7]


def test_refusals(tmp_path):
    path = tmp_path / "bad.txt"
    with pytest.raises(FileNotFoundError, match="no svmlight file"):
        read_svmlight(path)
    path.write_text("1 qid:1 1:x\n")
    with pytest.raises(ValueError, match="not svmlight lines"):
        read_svmlight(path)
    path.write_text("1 qid:1 5:1\n")
    with pytest.raises(ValueError, match="from 1 on to 3"):
        read_svmlight(path, 3)
    path.write_text("1 1:1\n0 1:2\n")
    with pytest.raises(ValueError, match="0 of 2 lines have a qid"):
        read_svmlight(path)
    with pytest.raises(ValueError, match="first is 2"):
        read_svmlight(path, first=2)
    with pytest.raises(ValueError, match="first is 2"):
        write_svmlight(path, [[1.0]], [1], [1], first=2)
    with pytest.raises(ValueError, match="NaN or infinity"):
        write_svmlight(path, [[np.nan]], [1], [1])
    with pytest.raises(ValueError, match="whole query numbers"):
        write_svmlight(path, [[1.0]], [1], [1.5])
    with pytest.raises(ValueError, match="qid"):
        write_svmlight(path, [[1.0]], [1, 2], [1])

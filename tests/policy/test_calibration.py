"""Maps of probabilities: they give shares, keep what they promise to keep, and are safe to read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worthwhile.policy.calibration import Calibration
from worthwhile.policy.output import Output

SLOPED = {"slope": np.array([0.5]), "bias": np.array([0.3, -0.1, -0.2])}
LINES = {
    "x": np.array([0.1, 0.4, 0.9, 0.2, 0.5, 0.0, 0.3]),
    "y": np.array([0.05, 0.5, 0.6, 0.1, 0.9, 0.2, 0.4]),
    "first": np.array([0, 3, 5, 7]),
}
MAPS = {
    "temperature": Calibration("temperature", {**SLOPED, "bias": np.zeros(3)}),
    "sigmoid": Calibration("sigmoid", SLOPED),
    "isotonic": Calibration("isotonic", LINES),
}


def rows(n=40, classes=3):
    return np.random.default_rng(0).normal(0, 3, size=(n, classes))


@pytest.mark.parametrize("kind", MAPS)
def test_a_row_alone_gets_the_bits_of_the_batch_and_shares_that_add_up(kind):
    output = Output("logits", np.arange(3), MAPS[kind])
    raw = rows()
    together = output.probabilities(raw)
    assert together.sum(axis=1) == pytest.approx(np.ones(len(raw)))
    assert (together > 0).all()
    for k in range(len(raw)):
        assert np.array_equal(output.probabilities(raw[k : k + 1])[0], together[k])


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=5), st.floats(0.01, 20))
def test_a_temperature_keeps_the_order_of_the_classes(raw, slope):
    raw = np.array([raw])
    calibration = Calibration(
        "temperature", {"slope": np.array([slope]), "bias": np.zeros(raw.shape[1])}
    )
    output = Output("logits", np.arange(raw.shape[1]), calibration)
    before, after = output.plain.probabilities(raw)[0], output.probabilities(raw)[0]
    order = np.argsort(before, kind="stable")
    # shares that differ in the last bit only may change places by rounding
    assert (np.diff(after[order]) >= -np.spacing(1.0)).all()


def test_lines_are_straight_between_their_corners_and_flat_outside():
    logs = Output("logits", np.arange(3)).logs(rows())
    naive = np.column_stack(
        [
            np.interp(np.exp(logs[:, k]), LINES["x"][a:b], LINES["y"][a:b])
            for k, (a, b) in enumerate([(0, 3), (3, 5), (5, 7)])
        ]
    )
    expected = naive / naive.sum(axis=1, keepdims=True)
    assert MAPS["isotonic"](logs) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("log-odds", [[0.7], [-2.0]]),
        ("score", [[0.7], [-2.0]]),
        ("scores", [[0.2, 0.9], [1.5, -0.5]]),
        ("probabilities", [[0.2, 0.8], [1.0, 0.0]]),
        ("votes", [[1, 3, 2.0, 6.0], [4, 0, 1.0, 0.0]]),
    ],
)
def test_every_kind_of_output_can_be_calibrated_and_predicts_as_before(kind, raw):
    raw = np.array(raw, dtype=float)
    calibration = Calibration("sigmoid", {"slope": np.array([1.0]), "bias": np.array([5.0, -5.0])})
    plain = Output(kind, np.array(["a", "b"]))
    output = plain.calibrated(calibration)
    assert output.has_probabilities
    assert output.predict(raw).tolist() == plain.predict(raw).tolist()
    assert output.winner(raw).tolist() == plain.winner(raw).tolist()
    shares = output.probabilities(raw)
    assert (shares[:, 0] > 0.9).all()
    if plain.has_probabilities:
        assert np.exp(plain.logs(raw)) == pytest.approx(plain.probabilities(raw), abs=1e-12)
    assert output.plain.calibration is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"kind": "cubic"}, "a calibration is of kind temperature or sigmoid or isotonic"),
        ("sigmoid", "a calibration is of kind"),
        ({"kind": "sigmoid", "slope": np.ones(1)}, "has the arrays"),
        ({"kind": "sigmoid", **SLOPED, "x": np.ones(1)}, "has the arrays"),
        ({"kind": "sigmoid", "slope": np.ones(1), "bias": np.ones(3, int)}, "has the arrays"),
        ({"kind": "sigmoid", "slope": np.array([np.nan]), "bias": np.ones(3)}, "has the arrays"),
        ({"kind": "sigmoid", "slope": np.ones(2), "bias": np.ones(3)}, "a bias per class"),
        ({"kind": "sigmoid", "slope": np.ones(1), "bias": np.ones(4)}, "a bias per class"),
        ({"kind": "isotonic", **LINES, "first": np.array([0, 3, 5, 6])}, "two corners at least"),
        ({"kind": "isotonic", **LINES, "first": np.array([0, 3, 6, 7])}, "two corners at least"),
        ({"kind": "isotonic", **LINES, "first": np.array([0, 3, 7])}, "two corners at least"),
        ({"kind": "isotonic", **LINES, "first": np.array([0, 4, 5, 7])}, "two corners at least"),
        ({"kind": "isotonic", **LINES, "x": np.zeros(7)}, "the corners of a calibration rise"),
        ({"kind": "isotonic", **LINES, "y": np.ones(7)}, "the corners of a calibration rise"),
        ({"kind": "isotonic", **LINES, "y": np.ones(6) / 2}, "the corners of a calibration rise"),
    ],
)
def test_what_is_unsafe_to_run_is_refused(content, said):
    with pytest.raises(ValueError, match=said):
        Calibration.from_dict(content, 3)


@pytest.mark.parametrize("kind", MAPS)
def test_maps_are_written_as_plain_arrays_and_read_again(kind):
    again = Calibration.from_dict(MAPS[kind].to_dict(), 3)
    logs = Output("logits", np.arange(3)).logs(rows())
    assert np.array_equal(again(logs), MAPS[kind](logs))

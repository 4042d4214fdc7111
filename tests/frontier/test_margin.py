"""The margin: errors as in a textbook, and bounds that hold for all points together."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from worthwhile.frontier._margin import (
    critical_value,
    influences,
    make_blocks,
    margins,
    standard_errors,
)


def block_sums(bills, blocks):
    sums = np.zeros((len(bills), blocks.max() + 1))
    for number, line in enumerate(bills):
        np.add.at(sums[number], blocks, line)
    return sums, np.bincount(blocks).astype(float)


def test_errors_of_single_rows_are_the_textbook_ones():
    bills = np.random.default_rng(0).exponential(size=(3, 200))
    sums, counts = block_sums(bills, np.arange(200))
    errors = standard_errors(influences(sums, counts))
    assert errors == pytest.approx(bills.std(axis=1, ddof=1) / np.sqrt(200))


def test_blocks_give_about_the_error_of_rows():
    bills = np.random.default_rng(1).exponential(size=(1, 20000))
    sums, counts = block_sums(bills, make_blocks(None, 20000))
    errors = standard_errors(influences(sums, counts))
    assert errors == pytest.approx(bills.std() / np.sqrt(20000), rel=0.15)


def test_rows_of_a_query_are_never_divided():
    clusters = np.random.default_rng(0).integers(0, 900, 5000)
    blocks = make_blocks(clusters, 5000)
    assert blocks.max() < 256
    assert all(len(set(blocks[clusters == c].tolist())) == 1 for c in np.unique(clusters))


def test_rows_that_go_together_make_the_error_larger():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(100), 20)
    bills = rng.normal(size=100)[clusters][None, :]
    sums, counts = block_sums(bills, make_blocks(clusters, 2000))
    grouped = standard_errors(influences(sums, counts))[0]
    assert grouped == pytest.approx(bills.std() / np.sqrt(100), rel=0.05)


def test_points_that_err_together_cost_nothing_and_independent_ones_what_bonferroni_says():
    rng = np.random.default_rng(0)
    common = np.repeat(rng.normal(size=(1, 256)), 50, axis=0)
    single = NormalDist().inv_cdf(0.95)
    assert critical_value(common, 0.95) == pytest.approx(single, abs=0.08)
    independent = critical_value(rng.normal(size=(50, 256)), 0.95)
    assert independent == pytest.approx(NormalDist().inv_cdf(0.95 ** (1 / 50)), abs=0.15)
    assert critical_value(np.zeros((3, 10)), 0.9) == pytest.approx(NormalDist().inv_cdf(0.9))


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_bounds_hold_for_the_worst_of_all_points_with_the_wanted_confidence(confidence):
    rng = np.random.default_rng(2)
    mixing = rng.normal(size=(10, 4))
    held, trials = 0, 120
    for _ in range(trials):
        bills = mixing @ rng.normal(size=(4, 100)) + 0.3 * rng.normal(size=(10, 100))
        pulls = influences(*block_sums(bills, np.arange(100)))
        errors = standard_errors(pulls)
        critical = critical_value(pulls, confidence)
        width = margins(errors, critical, confidence, 100, np.inf)
        held += bool((bills.mean(axis=1) + width >= 0).all())
    assert held / trials >= confidence - 2.3 * np.sqrt(confidence * (1 - confidence) / trials)
    assert held / trials <= confidence + 0.08


def test_few_new_rows_need_a_wider_margin():
    errors = np.array([0.1])
    single = NormalDist().inv_cdf(0.95)
    assert margins(errors, single, 0.95, 100, np.inf) == pytest.approx(single * errors)
    assert margins(errors, single, 0.95, 100, 100) == pytest.approx(np.sqrt(2) * single * errors)

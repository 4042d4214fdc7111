"""The problems of Yahoo's and Scene-15's shape: frozen recipes, real counts, stated structure."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from worthwhile import datasets
from worthwhile.datasets import _ranking, _scene

COUNTS = {1: 123, 5: 31, 20: 191, 50: 125, 100: 16, 150: 32, 200: 1}


@pytest.fixture(scope="module")
def ranking():
    return datasets.make_yahoo_like(12000, seed=0)


def _fingerprint(X, y, qid):
    # Thousandths: enough to see any change of the recipe, too coarse for the last bit of a float.
    parts = [np.rint(X * 1000), y, qid]
    return hashlib.sha256(b"".join(p.astype("<i2").tobytes() for p in parts)).hexdigest()


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (0, "09ba755e0a56a2da3848758e5f33b23c0c5006b2bcedf69486ca3e3995cfcd4e"),
        (1, "3628deb3af9f181a3424945efb30629950604fcd742623f2b0f09bf6be9fa81a"),
    ],
)
def test_yahoo_like_recipe_is_frozen(seed, expected):
    X, y, qid, _ = datasets.make_yahoo_like(300, seed)
    assert _fingerprint(X, y, qid) == expected


def test_yahoo_like_prices_are_the_real_ones(ranking):
    costs = ranking[3]
    values, counts = np.unique([float(p) for p in costs.prices.values()], return_counts=True)
    assert dict(zip(values, counts, strict=True)) == COUNTS
    assert costs.n_features == 519
    assert costs.total == 16948


def test_yahoo_like_prices_are_in_the_published_order(data_folder):
    published = np.loadtxt(data_folder / "yahoo_ltr_costs.txt")
    assert (_ranking.yahoo_like_recipe().price == published).all()


def test_yahoo_like_shape_grades_and_queries(ranking):
    X, y, qid, _ = ranking
    assert X.shape == (12000, 519)
    assert X.dtype == np.float32
    assert X.min() >= 0
    assert X.max() <= 1
    shares = np.bincount(y, minlength=5) / len(y)
    assert abs(shares - _ranking.GRADE_SHARES).max() < 0.03
    assert set(np.diff(qid)) == {0, 1}
    sizes = np.bincount(qid)[:-1]
    assert sizes.min() >= 4
    assert sizes.max() <= 84
    assert 22 < sizes.mean() < 26
    assert sizes.std() > 10
    # Queries differ in how relevant their documents are: more than chance would make them.
    means = np.bincount(qid, y)[:-1] / sizes
    assert means.var() > 2 * (y.var() / sizes).mean()


def test_yahoo_like_a_third_is_noise_at_all_prices_and_the_dearest_is_best(ranking):
    X, y, _, _ = ranking
    recipe = _ranking.yahoo_like_recipe()
    assert recipe.noise.sum() == 519 // 3
    top = int(np.flatnonzero(recipe.price == 200)[0])
    assert not recipe.noise[top]
    centred = X - X.mean(axis=0)
    signal = abs((centred * (y - y.mean())[:, None]).mean(axis=0)) / (X.std(axis=0) * y.std())
    of_query = recipe.source // 3 >= 10
    assert signal[recipe.noise & ~of_query].max() < 0.05
    assert signal.argmax() == top
    for price in (1, 5, 20, 50, 100, 150):
        assert recipe.noise[recipe.price == price].any()
    shown = ~recipe.noise
    assert 0 < np.corrcoef(recipe.price[shown], recipe.strength[shown])[0, 1] < 0.4


def test_yahoo_like_query_features_are_the_same_for_all_documents(ranking):
    X, _, qid, _ = ranking
    source = _ranking.yahoo_like_recipe().source
    of_query = (source >= 30) & (source < 36)
    assert of_query.sum() > 50
    first = np.searchsorted(qid, qid)
    assert (X[:, of_query] == X[first][:, of_query]).all()
    assert (X[first] != X).any(axis=0)[~of_query].all()


def test_yahoo_like_shorter_draw_begins_a_longer_one(ranking):
    X, y, qid, _ = ranking
    # Just before, at and after the end of the first block of queries.
    end = int(np.searchsorted(qid, 256))
    for n in (1, end - 1, end, end + 1):
        short = datasets.make_yahoo_like(n, seed=0)
        assert (short[0] == X[:n]).all()
        assert (short[1] == y[:n]).all()
        assert (short[2] == qid[:n]).all()
    other = datasets.make_yahoo_like(200, seed=1)[0]
    assert (other != X[:200]).mean() > 0.7


def test_scene_like_groups_are_descriptors():
    X, y, costs = datasets.make_scene_like(300, seed=0)
    assert X.shape == (300, 184 * 15)
    assert X.to_numpy().dtype == np.float32
    assert np.bincount(y).tolist() == [20] * 15
    assert costs.unit == "ms"
    assert len(costs.groups) == 184
    for name, group in costs.groups.items():
        assert group.features == tuple(f"{name}_c{c:02d}" for c in range(15))
        assert int(group.fee) in _scene.FEES_MS
    first = costs.price(["d000_c00"])
    assert costs.marginal("d000_c01", have=["d000_c00"]) <= 2 < first


def test_scene_like_descriptors_differ_and_together_beat_each():
    n = 600
    X, y, _ = datasets.make_scene_like(n, seed=1)
    scores = X.to_numpy().reshape(n, 184, 15)
    alone = (scores.argmax(axis=2) == y[:, None]).mean(axis=0)
    together = (scores.mean(axis=1).argmax(axis=1) == y).mean()
    assert alone.min() < 0.2
    assert alone.max() > 0.4
    assert alone.max() < together < 0.95


def test_scene_like_structure_does_not_depend_on_the_seed():
    first, second = (datasets.make_scene_like(30, s, 5, 3) for s in (0, 1))
    assert first[2] == second[2]
    assert not first[0].equals(second[0])
    assert first[0].equals(datasets.make_scene_like(30, 0, 5, 3)[0])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: datasets.make_yahoo_like(0), "n is 0: it is a whole number of at least 1"),
        (lambda: datasets.make_yahoo_like(5, "a"), "seed is 'a': it is a whole number"),
        (lambda: datasets.make_scene_like(5, n_descriptors=0), "n_descriptors is 0: .* at least 1"),
        (lambda: datasets.make_scene_like(5, n_classes=1), "n_classes is 1: .* at least 2"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, text):
    with pytest.raises(ValueError, match=text):
        call()

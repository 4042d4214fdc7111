"""Keys of cases and the coin."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from tests.naive.mixture import content_of, falls
from worthwhile.policy.keys import MOST_SEED, WHOLE, Coin, read_key, read_keys

SOME = UUID("12345678123456781234567812345678")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("Ann", "Ann"),
        (np.str_("Ann"), "Ann"),
        (4711, "4711"),
        (-3, "-3"),
        (2**70, str(2**70)),
        (np.int8(5), "5"),
        (np.uint64(5), "5"),
        (SOME, "12345678-1234-5678-1234-567812345678"),
        (b"\x00\xff", "00ff"),
    ],
)
def test_keys_are_text(key, text):
    assert read_key(key) == text


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (1.0, "a float: a key is text.*fill these, or give text"),
        (np.float64("nan"), "fill these"),
        (None, "None, a NoneType"),
        (True, "a bool"),
        (np.bool_(True), "bool"),
        (pd.NA, "NAType"),
        ((1, 2), "a tuple"),
        ("", "is empty"),
        (b"", "is empty"),
        ("\ud800", "no encoding"),
    ],
)
def test_what_is_no_key_is_refused(key, said):
    with pytest.raises((TypeError, ValueError), match=said):
        read_key(key)


def test_keys_come_one_per_row_from_any_column():
    expected = ["7", "8", "9"]
    for keys in (
        [7, 8, 9],
        (7, "8", np.uint8(9)),
        range(7, 10),
        np.array([7, 8, 9], dtype=np.int16),
        pd.Series([7, 8, 9], index=[2, 0, 1]),
        pd.Series([7, 8, 9], dtype="Int64"),
        pd.Index(["7", "8", "9"]),
        np.array(["7", "8", "9"]),
    ):
        assert read_keys(keys, 3) == expected


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("abc", "one key per row"),
        (7, "one key per row"),
        ({"a": 1}, "one key per row"),
        (pd.DataFrame({"a": [1, 2, 3]}), "one key per row"),
        ([1, 2], "2 entries for 3 rows"),
        ([1, None, 3], "key of row 1 is None"),
        (pd.Series([1, None, 3]), "key of row 0 is 1.0"),
    ],
)
def test_what_is_not_a_key_per_row_is_refused(keys, said):
    with pytest.raises((TypeError, ValueError), match=said):
        read_keys(keys, 3)


def test_the_coin_is_the_naive_one():
    rng = np.random.default_rng(0)
    for seed in (0, 1, 77, MOST_SEED):
        for share in (0, 1, WHOLE // 3, WHOLE):
            coin = Coin(seed, share)
            for number in range(50):
                key = f"é {number}"
                assert coin.by_key(key) == falls(seed, share, key.encode(), b"key")
                known = dict(zip(rng.permutation(9)[:3].tolist(), rng.normal(size=3), strict=True))
                assert coin.by_values(known) == falls(seed, share, content_of(known), b"values")


def test_values_count_and_not_their_order_or_sign_of_zero():
    coins = [Coin(seed, WHOLE // 2) for seed in range(64)]

    def faces(known):
        return [coin.by_values(known) for coin in coins]

    assert faces({1: 2.0, 0: 5.0}) == faces({0: 5.0, 1: 2.0}) != faces({0: 2.0, 1: 5.0})
    assert faces({3: -0.0}) == faces({3: 0.0}) != faces({4: 0.0})
    empty = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    assert faces({3: float(empty)}) == faces({3: float("nan")})


def test_nothing_bought_is_the_cheaper_policy():
    assert not Coin(0, WHOLE).by_values({})


def test_shares_are_kept_among_many_keys_of_any_kind():
    for keys in (range(20000), [f"case-{n:08d}" for n in range(20000)]):
        for seed in (0, 5):
            for share in (0.01, 0.3, 0.9):
                found = Coin(seed, round(share * WHOLE)).by_keys(map(str, keys)).mean()
                assert abs(found - share) < 4.5 * np.sqrt(share * (1 - share) / 20000)


def test_faces_of_neighbouring_keys_and_seeds_do_not_go_together():
    keys = [str(number) for number in range(20000)]
    one, other = (Coin(seed, WHOLE // 2).by_keys(keys) for seed in (0, 1))
    assert abs((one == other).mean() - 0.5) < 0.02
    assert abs((one[1:] == one[:-1]).mean() - 0.5) < 0.02


def test_a_larger_share_keeps_who_had_the_dearer_policy():
    keys = [str(number) for number in range(500)]
    small, large = (Coin(3, round(share * WHOLE)).by_keys(keys) for share in (0.2, 0.5))
    assert (small <= large).all()


@pytest.mark.parametrize("bad", [-1, 1.0, True, None, "1"])
def test_coins_are_whole_numbers(bad):
    with pytest.raises(ValueError, match="not a whole number"):
        Coin(bad, 0)
    with pytest.raises(ValueError, match="not a whole number"):
        Coin(0, bad)
    with pytest.raises(ValueError, match="not a whole number"):
        Coin(0, WHOLE + 1)

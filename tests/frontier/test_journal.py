"""A search that was killed goes on where it was, and ends where it would have ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone

from costwise import BudgetSearchCV
from costwise.frontier._journal import Journal, digest
from tests.frontier.buyers import Buyer, rows


@pytest.fixture
def finished(tmp_path):
    X, y = rows()
    path = tmp_path / "search.jsonl"
    search = BudgetSearchCV(Buyer(), 0.6, cv=3, resume=path).fit(X, y)
    return search, path


def same(one, other):
    return (
        one.frontier_.to_dict() == other.frontier_.to_dict()
        and one.best_params_ == other.best_params_
        and one.tuned_params_ == other.tuned_params_
        and one.best_bound_ == other.best_bound_
    )


@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.62, 0.97])
def test_a_journal_cut_off_anywhere_is_resumed_to_the_identical_result(finished, share):
    search, path = finished
    content = path.read_bytes()
    Buyer.fits = 0
    clone(search).fit(*rows())
    on_all_rows = Buyer.fits
    assert on_all_rows <= 1 + search.tune
    path.write_bytes(content[: int(len(content) * share)])
    left = content.count(b"\n") - 1 - max(0, path.read_bytes().count(b"\n") - 1)
    Buyer.fits = 0
    resumed = clone(search).fit(*rows())
    assert same(search, resumed)
    assert Buyer.fits == left + on_all_rows
    assert path.read_bytes().count(b"\n") == content.count(b"\n")


def test_a_killed_process_loses_at_most_the_model_in_work(tmp_path):
    path = tmp_path / "killed.jsonl"
    script = textwrap.dedent(
        f"""
        import os, signal
        from costwise import BudgetSearchCV
        from tests.frontier.buyers import Buyer, rows

        class Dying(Buyer):
            def fit(self, X, y, sample_weight=None):
                if Buyer.fits == 7:
                    os.kill(os.getpid(), signal.SIGKILL)
                Buyer.fits += 1
                return super().fit(X, y)

        Dying.__qualname__ = "Buyer"
        BudgetSearchCV(Dying(), 0.6, cv=3, resume={str(path)!r}).fit(*rows())
        """
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=os.getcwd(), check=False)
    assert ended.returncode == -signal.SIGKILL
    assert len(path.read_text().splitlines()) == 1 + 7
    Buyer.fits = 0
    whole = BudgetSearchCV(Buyer(), 0.6, cv=3).fit(*rows())
    needed, Buyer.fits = Buyer.fits, 0
    resumed = BudgetSearchCV(Buyer(), 0.6, cv=3, resume=path).fit(*rows())
    assert same(resumed, whole)
    assert Buyer.fits == needed - 7


@pytest.mark.parametrize("tune", [0, 3])
def test_another_budget_trains_only_the_chosen_model_and_between(finished, tune):
    search, _ = finished
    other = clone(search).set_params(budget=0.4, confidence=0.8, horizon=np.inf, tune=tune)
    Buyer.fits = 0
    other.fit(*rows())
    assert Buyer.fits <= 1 + tune
    assert other.best_cost_ < search.best_cost_


class Seeded(Buyer):
    """Bills depend on the seed."""

    def __init__(self, level=0.5, random_state=None):
        super().__init__(level)
        self.random_state = random_state

    def cost(self, X):
        return super().cost(X) + np.random.default_rng(self.random_state).random() / 100


def test_a_seed_that_was_left_open_is_the_same_after_resuming(tmp_path):
    searches = [
        BudgetSearchCV(Seeded(), 0.6, cv=3, resume=tmp_path / "seed.jsonl").fit(*rows())
        for _ in range(2)
    ]
    assert same(*searches)
    seeds = [search.best_estimator_.random_state for search in searches]
    assert seeds[0] == seeds[1] is not None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda s, X, y: (s, X + 1, y), "X"),
        (lambda s, X, y: (s, X, 1 - y), "y"),
        (lambda s, X, y: (s.set_params(estimator__noise=0.1), X, y), "estimator"),
        (lambda s, X, y: (s.set_params(cv=4), X, y), "cv"),
        (lambda s, X, y: (s.set_params(scoring="balanced_accuracy"), X, y), "scoring"),
    ],
)
def test_a_journal_of_another_search_is_refused(finished, change, what):
    search, X, y = change(clone(finished[0]), *rows())
    with pytest.raises(ValueError, match=f"the journal of another search: .*{what}.* differ"):
        search.fit(X, y)


def test_files_that_are_no_journal_are_refused(finished, tmp_path):
    search, path = finished
    lines = path.read_text().splitlines()
    lines[3] = lines[3][:20]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="whose line 4 is damaged: delete that line"):
        clone(search).fit(*rows())
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"journal": "of a sailor"}) + "\n")
    with pytest.raises(ValueError, match="which is not a journal of a search"):
        clone(search).set_params(resume=other).fit(*rows())


def test_digests_tell_values_apart_and_not_objects():
    assert digest({"a": 1, "b": [0.5]}) == digest({"b": [0.5], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest(Buyer(0.1)) == digest(Buyer(0.1)) != digest(Buyer(0.2))
    assert digest(rows) == digest(rows) != digest(same)


def test_journals_are_lines_that_any_tool_reads(finished):
    _, path = finished
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[0]["journal"] == "costwise search"
    assert {"unit", "result"} == set(records[1])
    journal = Journal(path, records[0]["identity"])
    assert len(journal.units) == len(records) - 1

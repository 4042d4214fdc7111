"""A search that was killed goes on where it was, and ends where it would have ended."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, f1_score, make_scorer

from tests.frontier.buyers import Buyer, rows
from worthwhile import BudgetSearchCV, compare
from worthwhile.frontier._identity import digest
from worthwhile.frontier._journal import Journal


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
        from worthwhile import BudgetSearchCV
        from tests.frontier.buyers import Buyer, rows

        class Dying(Buyer):
            def fit(self, X, y, sample_weight=None):
                if Buyer.fits == 7:
                    os.kill(os.getpid(), signal.SIGKILL)
                Buyer.fits += 1
                return super().fit(X, y)

        Dying.__qualname__, Dying.__module__ = "Buyer", Buyer.__module__
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


ODD_HEADS = ["[]", "3", "null", '"text"', '{"journal": "worthwhile search", "format": 2}',
             '{"journal": "worthwhile search", "format": 2, "identity": [], "seed": 1}',
             '{"journal": "worthwhile search", "format": 2, "identity": {}, "seed": "1"}']  # fmt: skip


@pytest.mark.parametrize("content", [b"twelve bytes", b"PK\x03\x04 a model\n and its tail", b"{}", b"\xff\n\xfe",
                                     *(f"{head}\n".encode() for head in ODD_HEADS)])  # fmt: skip
def test_a_file_that_is_no_journal_is_left_as_it_is(tmp_path, content):
    path = tmp_path / "precious"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="which is not a journal of a search"):
        BudgetSearchCV(Buyer(), 0.6, cv=3, resume=path).fit(*rows())
    assert path.read_bytes() == content


def test_a_folder_is_no_journal(tmp_path):
    with pytest.raises(ValueError, match="which is not a file: give another path"):
        BudgetSearchCV(Buyer(), 0.6, cv=3, resume=tmp_path).fit(*rows())


ODD_LINES = ["[]", "7", "{}", '{"unit": 3, "result": {}}', '{"unit": "a", "result": null}',
             '{"unit": "a", "result": {"seconds": 1, "stages": []}}',
             '{"unit": "a", "result": {"seconds": 1, "stages": [3]}}',
             '{"unit": "a", "result": {"seconds": 1, "stages": [{"stage": null, "score": "1"}]}}',
             "[" * 100_000]  # fmt: skip


@pytest.mark.parametrize("line", ODD_LINES)
def test_lines_that_are_no_results_are_refused(finished, line):
    search, path = finished
    lines = path.read_text().splitlines()
    lines[2] = line
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match="whose line 3 is damaged: delete that line"):
        clone(search).fit(*rows())


def test_results_of_a_comparison_are_checked_as_well(tmp_path):
    X, y = make_classification(60, 4, random_state=0)
    path = tmp_path / "compare.jsonl"
    how = {"methods": ["decision-tree"], "n_splits": 1, "effort": 2, "resume": path}
    compare(X, y, **how)
    lines = path.read_text().splitlines()
    unit = json.loads(lines[1])
    unit["result"]["points"][0]["surprise"] = 1
    path.write_text("\n".join([lines[0], json.dumps(unit)]) + "\n")
    with pytest.raises(ValueError, match="whose line 2 is damaged"):
        compare(X, y, **how)


def test_processes_that_share_a_journal_take_turns(tmp_path):
    path = tmp_path / "shared.jsonl"
    script = textwrap.dedent(
        f"""
        from worthwhile import BudgetSearchCV
        from tests.frontier.buyers import Buyer, rows
        BudgetSearchCV(Buyer(), 0.6, cv=3, resume={str(path)!r}).fit(*rows())
        """
    )
    started = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in started] == [0, 0, 0]
    alone = BudgetSearchCV(Buyer(), 0.6, cv=3).fit(*rows())
    assert same(BudgetSearchCV(Buyer(), 0.6, cv=3, resume=path).fit(*rows()), alone)


def test_a_line_that_another_process_left_behind_does_not_spoil_the_next(finished):
    _, path = finished
    content = path.read_bytes()
    journal = Journal(path, json.loads(content.splitlines()[0])["identity"], lambda result: True)
    with path.open("ab") as file:
        file.write(b'{"unit": "cut o')
    journal.add("new", {"result": 1})
    assert path.read_bytes().startswith(content)
    assert [json.loads(line) for line in path.read_bytes()[len(content) :].splitlines()] == [
        {"unit": "new", "result": {"result": 1}}
    ]


def test_a_journal_of_the_first_version_is_refused_with_that_reason(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_text('{"journal":"a search","format":1,"identity":{},"seed":1}\n')
    with pytest.raises(ValueError, match=r"a journal of version 0\.1\.0"):
        BudgetSearchCV(Buyer(), 0.6, cv=3, resume=path).fit(*rows())


def test_digests_tell_values_apart_and_not_objects():
    assert digest({"a": 1, "b": [0.5]}) == digest({"b": [0.5], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest(Buyer(0.1)) == digest(Buyer(0.1)) != digest(Buyer(0.2))
    assert digest(rows) == digest(rows) != digest(same)
    assert digest({1, 2}) == digest({2, 1}) != digest({1, 3})


def among(estimator, X, y):
    return float("b" in {"a", "b", "c"})


def power(exponent, base=2):
    return lambda estimator, X, y: base**exponent


class Weighted:
    """A scorer whose repr is its address."""

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, estimator, X, y):
        return self.weight * float((estimator.predict(X) == y).mean())


class Slotted:
    """A scorer whose state cannot be read."""

    __slots__ = ("weight",)

    def __call__(self, estimator, X, y):
        return 1.0


def test_functions_are_told_apart_by_code_defaults_and_closure():
    assert digest(lambda e, X, y: 1.0) != digest(lambda e, X, y: 2.0)
    assert digest(power(2)) == digest(power(2)) != digest(power(3))
    assert digest(power(2)) != digest(power(2, base=3))
    assert digest(lambda x=1: x) != digest(lambda x=2: x)
    assert digest(lambda *, x=1: x) != digest(lambda *, x=2: x)
    assert digest(functools.partial(power, 2)) != digest(functools.partial(power, 3))
    assert digest(functools.partial(power, base=2)) != digest(functools.partial(power, base=3))
    assert digest(Weighted(1.0)) == digest(Weighted(1.0)) != digest(Weighted(2.0))
    assert digest(Weighted(1.0).__call__) != digest(Weighted(2.0).__call__)
    assert digest(make_scorer(f1_score)) == digest(make_scorer(f1_score))
    assert digest(make_scorer(f1_score)) != digest(make_scorer(f1_score, average="macro"))
    assert digest(make_scorer(f1_score)) != digest(make_scorer(accuracy_score))


def test_another_process_has_the_same_digests():
    code = """
        from sklearn.metrics import f1_score, make_scorer
        from tests.frontier.test_journal import Weighted, among, digest, power
        print(digest(make_scorer(f1_score)), digest(power(2)), digest(Weighted(0.5)), digest({"a", "b"}),
              digest(among))
        """
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        here = [make_scorer(f1_score), power(2), Weighted(0.5), {"a", "b"}, among]
        assert done.stdout.split() == [digest(value) for value in here]


def test_a_scoring_of_other_code_is_another_search(tmp_path):
    path = tmp_path / "scoring.jsonl"
    search = BudgetSearchCV(Buyer(), 0.6, cv=3, resume=path, scoring=lambda e, X, y: 0.5)
    search.fit(*rows())
    with pytest.raises(ValueError, match="another search: scoring differ"):
        clone(search).set_params(scoring=lambda e, X, y: 0.7).fit(*rows())


def test_a_scoring_that_cannot_be_known_again_wants_a_name(tmp_path):
    path = tmp_path / "slots.jsonl"
    search = BudgetSearchCV(Buyer(), 0.6, cv=3, resume=path, scoring=Slotted())
    with pytest.raises(ValueError, match=r"give scoring_name='\.\.\.', a name that you change"):
        search.fit(*rows())
    assert not path.exists()
    search.set_params(scoring_name="one").fit(*rows())
    with pytest.raises(ValueError, match="another search: scoring differ"):
        search.set_params(scoring_name="two").fit(*rows())


def test_an_estimator_that_cannot_be_known_again_is_refused(tmp_path):
    search = BudgetSearchCV(Buyer(Slotted()), 0.6, cv=3, resume=tmp_path / "s.jsonl")
    with pytest.raises(ValueError, match="needs an estimator that a later process knows again"):
        search.fit(*rows())


def test_journals_are_lines_that_any_tool_reads(finished):
    _, path = finished
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[0]["journal"] == "worthwhile search"
    assert {"unit", "result"} == set(records[1])
    journal = Journal(path, records[0]["identity"], lambda result: True)
    assert len(journal.units) == len(records) - 1

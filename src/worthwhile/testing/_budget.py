"""Law 5: a budget is kept, and there is always an answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from worthwhile.costs import EXACT
from worthwhile.testing._bill import bill
from worthwhile.testing._subject import Answers, Broken, Subject, compare_run, drive, law

QUANTUM = Decimal("1e-9")


def unlimited_steps(subject: Subject, row: int) -> list[tuple[Decimal, tuple[int, ...]]]:
    """What an unlimited run spends, in order: the bill after each bundle, and the bundle."""
    case, costs = subject.policy.begin(), subject.costs
    have = np.zeros(costs.n_features, dtype=bool)
    steps: list[tuple[Decimal, tuple[int, ...]]] = []
    while bundles := case.wants(None):
        bundle = bundles[0]
        needed = dict.fromkeys(f for own in bundle for f in (*costs.requirements[own], own))
        new = tuple(f for f in needed if not have[f])
        have[list(bundle)] = have[list(new)] = True
        if new:  # else it was bought before, with what requires it
            steps.append((bill(costs, have, case.evaluated), new))
        for feature in bundle:
            case.learn(feature, float(subject.values[row, feature]))
        if len(steps) > costs.n_features:
            raise Broken(f"row {row}: the policy wants more than there is", row)
    return steps


def budgets(subject: Subject) -> list[float]:
    """From nothing to more than everything, on and just below the steps of the longest run."""
    said = subject.answers()
    longest = int(said.acquired.sum(axis=1).argmax())
    steps = [amount for amount, _ in unlimited_steps(subject, longest)]
    amounts = {Decimal(0), QUANTUM}
    for share in (0.25, 0.6, 1.0):
        if steps:
            amount = steps[min(int(share * len(steps)), len(steps) - 1)]
            amounts |= {amount, max(EXACT.subtract(amount, QUANTUM), Decimal(0))}
    amounts.add(EXACT.multiply(subject.costs.evaluation, 2))
    amounts.add(Decimal(str(said.cost.max())))
    return [float(amount) for amount in sorted(amounts)]


def middle_budget(subject: Subject) -> float:
    """A budget that some purchases fit into and others do not."""
    row = int(subject.answers().acquired.sum(axis=1).argmax())
    steps = [amount for amount, _ in unlimited_steps(subject, row) if amount]
    return float(EXACT.subtract(steps[len(steps) // 2], QUANTUM)) if steps else 0.0


@law(5)
def check_budgets_are_kept(subject: Subject) -> None:
    """No row costs more than the budget, and every row has an answer."""
    if not subject.budgeted():
        return
    for budget in budgets(subject):
        said = subject.answers(budget)
        for row in range(subject.n_rows):
            due = bill(subject.costs, said.acquired[row], said.evaluated[row])
            if due > Decimal(str(budget)) or said.cost[row] > budget:
                raise Broken(
                    f"row {row} buys {subject.bought(said.acquired[row])} for {due} (cost says {said.cost[row]}) "
                    f"under a budget of {budget}",
                    row,
                )
            _check_answer(subject, said, row, budget)


def _check_answer(subject: Subject, said: Answers, row: int, budget: float) -> None:
    prediction, labels = said.prediction[row], subject.policy.output.labels
    fine = np.isfinite(prediction).all() if labels is None else prediction in labels
    if said.probabilities is not None:
        fine = fine and abs(float(said.probabilities[row].sum()) - 1.0) < 1e-6
    if not fine:
        raise Broken(f"row {row}: the answer under a budget of {budget} is {prediction}", row)


@law(5)
def check_sessions_keep_budgets(subject: Subject) -> None:
    """A session under a budget buys, pays and answers as the batch does, and keeps to it."""
    if not subject.budgeted():
        return
    for budget in budgets(subject):
        said = subject.answers(budget)
        for row in range(0, subject.n_rows, 2):
            values = subject.row(row)
            for one_by_one in (False, True):
                session = subject.model.session(budget=budget, one_by_one=one_by_one)
                run = drive(session, values)
                if session.ledger.total > Decimal(str(budget)) or session.spent > budget:
                    raise Broken(
                        f"row {row}: a session spends {session.ledger.total} of {budget}", row
                    )
                when = f"in a session with budget={budget}, one_by_one={one_by_one}"
                compare_run(subject, run, said, row, when)


@law(5)
def check_budgets_cut_the_unlimited_order(subject: Subject) -> None:
    """Under a budget purchases follow the unlimited order until the first that does not fit."""
    if not subject.budgeted():
        return
    for row in range(0, subject.n_rows, 3):
        steps = unlimited_steps(subject, row)
        full = drive(subject.model.session(one_by_one=True), subject.row(row)).order
        planned = [subject.costs.name(f) for _, bundle in steps for f in bundle]
        if full != planned:
            raise Broken(f"row {row}: the session buys {full}, the policy wants {planned}", row)
        for budget in budgets(subject):
            fitting: list[Any] = []
            for amount, bundle in steps:
                if amount > Decimal(str(budget)):
                    break
                fitting += [subject.costs.name(f) for f in bundle]
            session = subject.model.session(budget=budget, one_by_one=True)
            order = drive(session, subject.row(row)).order
            if order[: len(fitting)] != fitting:
                raise Broken(
                    f"row {row}: under a budget of {budget} the session buys {order}, but {fitting} come first and fit",
                    row,
                )


@law(5)
def check_ample_budget_is_no_budget(subject: Subject) -> None:
    """A budget of more than any bill changes nothing."""
    if not subject.budgeted():
        return
    said = subject.answers()
    exact = float(said.cost.max()) if subject.n_rows else 0.0
    for budget in (exact, 2 * exact + subject.costs.total, 1e300, np.inf):
        subject.compare(subject.answers(budget), said, f"with a budget of {budget}")


@law(5)
def check_budget_is_refused_with_advice(subject: Subject) -> None:
    """A model that cannot answer from a part refuses every budget, and says what to do."""
    if subject.budgeted():
        return
    X = subject.like(subject.values)
    for name in ("session", "predict", "acquired", "cost"):
        arguments = () if name == "session" else (X,)
        try:
            getattr(subject.model, name)(*arguments, budget=1)
        except ValueError as error:
            if "budget" not in str(error):
                raise Broken(f"{name} refuses without a word about the budget: {error}") from None
        else:
            raise Broken(f"{name} takes a budget that the policy refuses")

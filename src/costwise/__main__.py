"""``python -m costwise``: the heart example, from prices to one patient's bill."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from costwise.datasets import load_heart
from costwise.estimators.priced_model import PricedModel


def show_bills(console: Console, model: PricedModel, rows: object, target: object) -> None:
    """What the same forest costs and achieves under smaller and smaller budgets."""
    table = Table(
        "budget per patient",
        "mean bill",
        "dearest bill",
        "accuracy",
        title="One forest, five budgets",
    )
    for budget in (None, 200, 120, 25, 5):
        bills = model.cost(rows, budget=budget)
        right = (model.predict(rows, budget=budget) == target).mean()
        name = "none" if budget is None else f"{budget} CAD"
        table.add_row(name, f"{bills.mean():.2f} CAD", f"{bills.max():.2f} CAD", f"{right:.1%}")
    console.print(table)


def walk_one_patient(console: Console, model: PricedModel, patient: dict[str, float]) -> None:
    """A session: it asks for the next test, says what it costs, and answers at any time."""
    session = model.session(budget=120, one_by_one=True)
    table = Table(
        "it asks for", "price", "told", "spent", "P(disease)", title="One patient, at most 120 CAD"
    )
    while wanted := session.ask():
        name = wanted[0]
        price = session.quote(name)
        session.tell({name: patient[str(name)]})
        chance = session.probabilities[1]
        table.add_row(
            str(name),
            f"{price:.2f}",
            f"{patient[str(name)]:g}",
            f"{session.spent:.2f}",
            f"{chance:.2f}",
        )
    console.print(table)
    console.print(f"Prediction: {'disease' if session.prediction else 'no disease'}. The ledger:")
    console.print(str(session.ledger))


def main() -> None:
    """Wrap a forest, print bills, walk one patient."""
    console = Console(width=92)
    heart = load_heart()
    console.print(
        f"Cleveland heart data: {len(heart.data)} patients, 13 tests, {heart.costs.total:.2f} CAD for all."
    )
    train, test, target, truth = train_test_split(
        heart.data, heart.target, test_size=0.4, random_state=0
    )
    forest = RandomForestClassifier(50, max_depth=6, random_state=0).fit(train, target)
    model = PricedModel(forest, heart.costs)
    show_bills(console, model, test, truth)
    walk_one_patient(console, model, test.iloc[0].to_dict())


if __name__ == "__main__":
    main()

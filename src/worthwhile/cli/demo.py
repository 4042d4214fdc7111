"""``worthwhile demo``: the main job on the shipped heart data, in about a minute."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from worthwhile.cli._terminal import check_output, explained, money, notes, out
from worthwhile.exceptions import WorthwhileWarning

METHODS = ("budget", "cost-weighted-l1", "decision-tree")
"""What a first look is compared with: others would be compiled first, which takes longer than the rest."""

BUDGETS = (5, 20, 60, 120, 200)
CLASSES = ("no disease", "disease")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    output: Annotated[Path, typer.Option("--out", "-o", help="Page to write.")] = Path(
        "worthwhile-demo.html"
    ),
    budget: Annotated[
        float, typer.Option(help="Mean bill per patient to choose a model for, in CAD.")
    ] = 60,
) -> None:
    """Compare methods on 297 patients with real prices, train a model for a budget, walk one patient.

    Writes the report into the current folder. Example: worthwhile demo --budget 100
    """
    from worthwhile.cli.compare import show
    from worthwhile.datasets import load_heart
    from worthwhile.frontier import compare
    from worthwhile.report import check_ready, summarise, write_report

    with explained(), warnings.catch_warnings():
        check_ready()
        warnings.simplefilter(
            "ignore", WorthwhileWarning
        )  # sweeps reach into budgets that buy nothing
        check_output(output, force=True)
        heart = load_heart()
        tests, price = len(heart.feature_names), money(heart.costs.total, "CAD")
        out.print(
            f"Cleveland heart data: {len(heart.data)} patients, {tests} tests, {price} for all of them.\n"
        )
        found = compare(
            heart.data,
            heart.target,
            heart.costs,
            METHODS,
            BUDGETS,
            n_splits=4,
            effort=4,
            random_state=0,
            verbose=1,
        )
        show(found)
        draw(found)
        model = choose(heart, budget)
        walk(model, heart.data.iloc[0].to_dict(), heart.costs)
        summary = summarise(
            found, heart.data, heart.target, heart.costs, title="Heart disease at a price",
            classes=dict(enumerate(CLASSES)),
        )  # fmt: skip
        write_report(summary, output)
        notes.print(f"The whole story with a budget slider: open {output} in a browser.")


def draw(found: Any, width: int = 64, height: int = 12) -> None:
    """The best score for each mean bill, as a picture of characters."""
    import numpy as np

    from worthwhile.frontier import MIXED

    budgets = np.geomspace(found.full_cost / 200, found.full_cost, width)
    score, _, _ = found.curve(MIXED, budgets)
    low, high = float(score.min()), float(score.max())
    rows = [[" "] * width for _ in range(height)]
    for column, value in enumerate(score):
        level = round((value - low) / (high - low or 1) * (height - 1))
        for row in range(level + 1):
            rows[height - 1 - row][column] = "█" if row == level else "░"
    out.print(f"\n{found.score_name}, best method at each mean bill (logarithmic):")
    for number, line in enumerate(rows):
        value = high - (high - low) * number / (height - 1)
        out.print(f"{value:6.3f} │{''.join(line)}")
    out.print(f"       └{'─' * width}")
    left, right = f"{budgets[0]:.2f}", f"{budgets[-1]:.0f} {found.unit}"
    out.print(f"        {left}{right:>{width - len(left)}}\n")


def choose(heart: Any, budget: float) -> Any:
    """One training for the budget, and what it promises for new patients."""
    from worthwhile.estimators.budget import BudgetClassifier

    model = BudgetClassifier(budget, costs=heart.costs, random_state=0)
    said = model.fit(heart.data, heart.target).frontier_.iloc[model.point_]
    paid, bound = (money(float(said[column]), "CAD") for column in ("cost", "bound"))
    out.print(
        f"For {money(budget, 'CAD')} a patient on average: BudgetClassifier, {said['score']:.1%} right on patients it "
        f"had not seen, at {paid}; new patients stay below {bound} on average, with 95 % confidence.\n"
    )
    return model


def walk(model: Any, patient: dict[str, float], costs: Any) -> None:
    """One patient: what is asked for, what it costs, the answer so far."""
    session = model.session(one_by_one=True)
    table = Table("it asks for", "price", "told", "spent", "answer so far", title="One patient")
    while wanted := session.ask():
        name = str(wanted[0])
        price = session.quote(name)
        session.tell({name: patient[name]})
        answer = CLASSES[int(session.prediction)]
        if model.policy_.output.has_probabilities:
            answer += f" ({session.probabilities.max():.0%})"
        table.add_row(
            name,
            money(price, costs.unit),
            f"{patient[name]:g}",
            money(session.spent, costs.unit),
            answer,
        )
    out.print(table)

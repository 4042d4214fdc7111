"""``worthwhile demo``: the main job on the shipped heart data, in about half a minute."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from worthwhile.cli._terminal import check_output, explained, money, notes, out
from worthwhile.exceptions import WorthwhileWarning

METHODS = ("decision-tree", "random-forest", "budget")
"""What a first look is compared with: others would be compiled first, which takes longer than the rest."""

BUDGETS = (5, 20, 60, 120, 200, 330)
"""Mean bills per patient that are shown, in CAD."""

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
    with explained(), warnings.catch_warnings():
        from worthwhile.report import check_ready

        check_ready()
        check_output(output, force=True)
        compile_ahead()
        from worthwhile.datasets import load_heart
        from worthwhile.frontier import compare
        from worthwhile.report import summarise, write_report

        # Sweeps reach into budgets that buy nothing.
        warnings.simplefilter("ignore", WorthwhileWarning)
        heart = load_heart()
        tests, price = len(heart.feature_names), money(heart.costs.total, "CAD")
        out.print(
            f"Cleveland heart data: {len(heart.data)} patients, {tests} tests, {price} for all of them.\n"
        )
        found = compare(
            heart.data, heart.target, heart.costs, METHODS, BUDGETS, n_splits=4, test_size=0.2, effort=2,
            random_state=0, verbose=1,
        )  # fmt: skip
        summary = summarise(
            found, heart.data, heart.target, heart.costs, title="Heart disease at a price",
            classes=dict(enumerate(CLASSES)), budgets=[*BUDGETS, budget],
        )  # fmt: skip
        show(summary, budget)
        draw(summary)
        out.print(summary["headline"] + "\n")
        truth = CLASSES[int(heart.target[0])]
        walk(choose(heart, budget), heart.data.iloc[0].to_dict(), heart.costs, truth)
        write_report(summary, output)
        notes.print(f"The whole story with a budget slider: open {output} in a browser.")


def compile_ahead() -> None:
    """On a new machine: have the largest kernels compiled while this process still loads the rest."""
    from worthwhile.core.compile import compile_beside
    from worthwhile.core.forest.bagged_trees import grow

    compile_beside(grow)


def show(summary: Any, budget: float) -> None:
    """What some budgets bring, each patient judged by a model that has not seen it."""
    table = Table(
        "budget a patient", title="BudgetClassifier, on patients that it has not seen",
        caption=f"five parts of the patients, each judged by models that learned from the others; "
        f"in bold: the budget of {money(budget, 'CAD')}",
    )  # fmt: skip
    for name in ("right", "mean bill"):
        table.add_column(name, justify="right")
    table.add_column("buys for most of them")
    for line in summary["picks"]:
        if line["budget"] in (*BUDGETS, budget):
            model = summary["models"][line["model"]]
            names = [feature["name"] for feature in summary["features"]]
            most = [n for n, share in zip(names, model["shares"], strict=True) if share > 0.5]
            table.add_row(
                money(line["budget"], "CAD"), f"{model['score']:.1%}", money(model["cost"], "CAD"),
                "all of them" if len(most) == len(names) else ", ".join(most),
                style="bold" if line["budget"] == budget else "",
            )  # fmt: skip
    if (peer := summary["peer"]) is not None:
        table.add_section()
        table.add_row(
            peer["method"], f"{peer['score']:.1%}", money(peer["cost"], "CAD"), "", style="dim"
        )
    out.print(table)


def draw(summary: Any, width: int = 64, height: int = 12) -> None:
    """The score for each budget, as a picture of characters."""
    import numpy as np

    budgets = np.geomspace(summary["full_cost"] / 200, summary["full_cost"], width)
    stops = np.array([line["budget"] for line in summary["picks"]])
    places = np.searchsorted(stops, budgets * (1 + 1e-9), side="right") - 1
    score = np.array(
        [summary["models"][summary["picks"][max(place, 0)]["model"]]["score"] for place in places]
    )
    low, high = float(score.min()), float(score.max())
    rows = [[" "] * width for _ in range(height)]
    for column, value in enumerate(score):
        level = round((value - low) / (high - low or 1) * (height - 1))
        for row in range(level + 1):
            rows[height - 1 - row][column] = "█" if row == level else "░"
    out.print(f"\n{summary['score_name']} at each budget (logarithmic):")
    for number, line in enumerate(rows):
        value = high - (high - low) * number / (height - 1)
        out.print(f"{value:6.3f} │{''.join(line)}")
    out.print(f"       └{'─' * width}")
    left, right = f"{budgets[0]:.2f}", f"{budgets[-1]:.0f} {summary['unit']}"
    out.print(f"        {left}{right:>{width - len(left)}}\n")


def choose(heart: Any, budget: float) -> Any:
    """One training for the budget on all patients, and what it promises for new ones."""
    from worthwhile.estimators.budget import BudgetClassifier

    model = BudgetClassifier(budget, costs=heart.costs, random_state=0)
    said = model.fit(heart.data, heart.target).frontier_.iloc[model.point_]
    paid, bound = (money(float(said[column]), "CAD") for column in ("cost", "bound"))
    out.print(
        f"Trained on all patients for {money(budget, 'CAD')} each on average: new ones will cost about {paid}, and at "
        f"most {bound} on average with 95 % confidence.\n"
    )
    return model


def walk(model: Any, patient: dict[str, float], costs: Any, truth: str) -> None:
    """One patient: what is asked for, what it costs, the answer so far."""
    session = model.session(one_by_one=True)
    table = Table(
        "it asks for", "price", "told", "spent", "answer so far", title="One patient",
        caption=f"in truth: {truth}; the budget is a mean, and hard cases cost more than easy ones",
    )  # fmt: skip
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

"""``worthwhile predict``: a file in, predictions with bills out, chunk by chunk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from worthwhile._messages import some
from worthwhile._progress import progress
from worthwhile._writing import open_whole
from worthwhile.cli._options import Data
from worthwhile.cli._terminal import check_output, explained, money, notes, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(predict)


def predict(
    model: Annotated[
        Path, typer.Argument(help="Model file, from 'worthwhile fit'.", show_default=False)
    ],
    data: Data,
    output: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write.")] = Path(
        "predictions.csv"
    ),
    budget: Annotated[
        float | None, typer.Option(help="Never spend more than this on a row.")
    ] = None,
    bought: Annotated[
        bool,
        typer.Option("--bought", help="Add a column with the list of what was bought, as JSON."),
    ] = False,
    trusted: Annotated[
        list[str] | None, typer.Option(help="Type of another library to trust.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the output if it exists.")
    ] = False,
) -> None:
    """Predict every row of a file; the output has the prediction, its probability and the bill.

    Example: worthwhile predict model.worthwhile patients.csv -o answers.csv --budget 25
    """
    from worthwhile.persist import load

    with explained():
        check_output(output, force=force)
        estimator = load(model, trusted=trusted or [])
        with open_whole(output, text=True) as file:
            summary = _write(estimator, data, file, budget, bought)
        if as_json:
            print_json(summary | {"output": str(output)})
        else:
            bill = money(summary["mean_bill"], estimator.costs_.unit)
            notes.print(f"Wrote {summary['rows']:,} predictions to {output}; mean bill {bill}.")


def _write(
    estimator: Any, data: Path, output: IO[str], budget: float | None, bought: bool
) -> dict[str, Any]:
    """Write the answers of all chunks; return the totals."""
    import pandas as pd

    from worthwhile.cli._tables import read_chunks

    rows, spent, dearest = 0, 0.0, 0.0
    with progress("predicting", None, transient=True) as advance:
        for frame in read_chunks(data):
            X = features_of(estimator, frame, data)
            answers = {
                "prediction": estimator.predict(X, budget=budget),
                "cost": estimator.cost(X, budget=budget),
            }
            if estimator.policy_.output.has_probabilities:
                answers["probability"] = estimator.predict_proba(X, budget=budget).max(axis=1)
            if bought:
                names = estimator.costs_.features
                answers["bought"] = [
                    json.dumps(
                        [n for n, b in zip(names, row, strict=True) if b], ensure_ascii=False
                    )
                    for row in estimator.acquired(X, budget=budget)
                ]
            pd.DataFrame(answers).to_csv(output, header=rows == 0, index=False)
            rows += len(frame)
            spent += float(answers["cost"].sum())
            dearest = max(dearest, float(answers["cost"].max()))
            advance(len(frame))
    return {"rows": rows, "mean_bill": spent / rows, "dearest_bill": dearest}


def features_of(estimator: Any, frame: Any, path: Path) -> Any:
    """The model's columns of a frame, in its order; refuses if one that may be read is missing."""
    names = estimator.costs_.feature_names
    if names is None:
        return frame.to_numpy()
    frame = frame.rename(columns=str)
    reads = {names[column] for column in estimator.policy_.reads}
    if missing := [name for name in names if name in reads and name not in frame.columns]:
        raise ValueError(
            f"{path} has no column {some(missing)}, which the model may read: add it, empty if unknown."
        )
    return frame.reindex(columns=list(names))

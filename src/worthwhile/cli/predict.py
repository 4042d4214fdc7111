"""``worthwhile predict``: a file in, predictions with bills out, chunk by chunk."""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any

import numpy as np
import typer

from worthwhile._messages import some
from worthwhile._progress import progress
from worthwhile._writing import open_whole
from worthwhile.cli._options import (
    Data,
    KeyColumn,
    Today,
    Unavailable,
    keys_of,
    queries_of,
    read_label,
    read_request,
)
from worthwhile.cli._terminal import check_output, explained, money, notes, print_json

WHOLE = 2**31 - 1
"""Rows of a chunk that is the whole file."""


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
    row_id: Annotated[
        str | None,
        typer.Option("--id", help="Column that names the rows: it is copied to the output."),
    ] = None,
    bought: Annotated[
        bool,
        typer.Option(help="Write what was bought for each row, as a JSON list."),
    ] = True,
    positive: Annotated[
        str | None,
        typer.Option(
            help="Label that --threshold is about; the second of two in order.", show_default=False
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Predict the positive label from this probability on, instead of where it is the likeliest; the "
            "likeliest of the others below it.",
            show_default=False,
        ),
    ] = None,
    qid: Annotated[
        str | None,
        typer.Option(
            "--qid",
            help="Column with the query of each row: it is copied to the output, with the rank of each row within "
            "its query. Models in which documents decide together need it.",
        ),
    ] = None,
    key: KeyColumn = None,
    price: Today = None,
    unavailable: Unavailable = None,
    trusted: Annotated[
        list[str] | None, typer.Option(help="Type of another library to trust.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the output if it exists.")
    ] = False,
) -> None:
    """Predict every row of a file: prediction, probability of each class, bill, what was bought.

    Where errors have prices, the total to expect as well: the bill and the expected price of the error.

    Example: worthwhile predict model.worthwhile patients.csv --id patient -o answers.csv --budget 25

    To miss fewer of the sick: add --positive sick --threshold 0.2
    """
    from worthwhile.persist import load

    with explained():
        check_output(output, force=force)
        estimator = load(model, trusted=trusted or [])
        request = {"budget": budget, **read_request(estimator.costs_, price, unavailable)}
        with open_whole(output, text=True) as file:
            cut = read_cut(estimator, positive, threshold)
            summary = _write(estimator, data, file, Output(row_id, bought, request, cut, qid, key))
        if as_json:
            print_json(summary | {"output": str(output)})
        else:
            bill = money(summary["mean_bill"], estimator.costs_.unit)
            if "mean_expected_total" in summary:
                total = money(summary["mean_expected_total"], estimator.costs_.unit)
                bill += f", {total} with the errors to expect"
            notes.print(f"Wrote {summary['rows']:,} predictions to {output}; mean bill {bill}.")


@dataclass(frozen=True)
class Output:
    """What is written about each row."""

    row_id: str | None
    bought: bool
    request: dict[str, Any]
    cut: tuple[int, float] | None = None
    """Place of the positive label, and the probability from which on it is predicted."""
    qid: str | None = None
    key: str | None = None


def read_cut(estimator: Any, positive: str | None, threshold: float | None) -> Any:
    """What ``--positive`` and ``--threshold`` say, checked against the model."""
    if threshold is None:
        if positive is not None:
            raise ValueError("--positive is given without --threshold: give both, or neither.")
        return None
    output = estimator.policy_.output
    if not 0 <= threshold <= 1:
        raise ValueError(f"--threshold is {threshold:g}: it is a probability, from 0 to 1.")
    if output.classes is None or not output.has_probabilities:
        raise ValueError("--threshold is about probabilities, and the model predicts none.")
    labels = output.classes.tolist()
    if positive is None and len(labels) > 2:
        raise ValueError(
            f"--threshold needs --positive: the model knows {len(labels)} labels, {some(labels)}."
        )
    label = labels[1] if positive is None else read_label(positive, labels, "--positive")
    return labels.index(label), threshold


def _write(estimator: Any, data: Path, output: IO[str], how: Output) -> dict[str, Any]:
    """Write the answers of all chunks; return the totals."""
    import pandas as pd

    from worthwhile.cli._tables import CHUNK, read_chunks

    rows, spent, dearest, expected = 0, 0.0, 0.0, 0.0
    texts = [*as_text(estimator), *(name for name in (how.row_id, how.key) if name)]
    with progress("predicting", None, transient=True) as advance:
        # The rows of a query are needed together.
        size = CHUNK if how.qid is None else WHOLE
        for frame in read_chunks(data, size, as_text=texts):
            answers = _answers(estimator, frame, data, how)
            if how.row_id is not None:
                answers = {how.row_id: _ids(frame, how.row_id, data, answers)} | answers
            pd.DataFrame(answers).to_csv(output, header=rows == 0, index=False)
            rows += len(frame)
            spent += float(answers["cost"].sum())
            dearest = max(dearest, float(answers["cost"].max()))
            expected += float(answers.get("expected_total", np.zeros(1)).sum())
            advance(len(frame))
    found = {"rows": rows, "mean_bill": spent / rows, "dearest_bill": dearest}
    return found | ({"mean_expected_total": expected / rows} if expected else {})


def _answers(estimator: Any, frame: Any, path: Path, how: Output) -> dict[str, Any]:
    """The columns of the output."""
    X, request, answers = features_of(estimator, frame, path), dict(how.request), {}
    if how.qid is not None:
        answers[how.qid] = queries_of(frame, how.qid, path).to_numpy()
        if "qid" in inspect.signature(estimator.predict).parameters:
            request["qid"] = answers[how.qid]
    if how.key is not None:
        request["key"] = keys_of(frame, how.key, path)
    answers["prediction"] = estimator.predict(X, **request)
    if how.qid is not None:
        answers["rank"] = _ranks(answers[how.qid], answers["prediction"])
    if estimator.policy_.output.has_probabilities:
        shares = estimator.predict_proba(X, **request)
        classes = estimator.policy_.output.classes
        if how.cut is not None:
            answers["prediction"] = classes[_cut(shares, *how.cut)]
        answers |= {f"P({label})": share for label, share in zip(classes, shares.T, strict=True)}
    answers["cost"] = estimator.cost(X, **request)
    output = estimator.policy_.output
    if output.errors is not None and output.classes is not None and how.cut is None:
        raw = estimator._run(X, billed=False, **request).raw
        answers["expected_total"] = answers["cost"] + output.expected(raw).min(axis=1)
    if how.bought:
        answers["bought"] = _lists(estimator.acquired(X, **request), estimator.costs_.features)
    return answers


def _cut(shares: Any, positive: int, threshold: float) -> Any:
    """Place of the predicted label: the positive one from the threshold on."""
    others = shares.copy()
    others[:, positive] = -1.0
    return np.where(shares[:, positive] >= threshold, positive, others.argmax(axis=1))


def _ranks(qid: Any, score: Any) -> Any:
    """Place of each row within its query, 1 for the largest score; ties by their order in the file."""
    import pandas as pd

    return pd.Series(-score).groupby(qid).rank(method="first").astype(int).to_numpy()


def _ids(frame: Any, name: str, path: Path, answers: dict[str, Any]) -> Any:
    if name not in frame.columns:
        raise ValueError(
            f"--id is {name!r}, and {path} has no such column: its columns are {some(frame.columns)}."
        )
    if name in answers:
        raise ValueError(
            f"--id is {name!r}, which the output has as a column of its own: rename it in {path}."
        )
    return frame[name].to_numpy()


def _lists(acquired: Any, names: Any) -> list[str]:
    """What was bought, as JSON; rows that bought the same are written once."""
    packed = np.packbits(acquired, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    texts = [
        json.dumps([names[column] for column in np.flatnonzero(acquired[row])], ensure_ascii=False)
        for row in first
    ]
    return [texts[number] for number in which.ravel()]


def as_text(estimator: Any) -> list[str]:
    """Columns whose values are known as text: those of a file must not become numbers."""
    columns, names = estimator.policy_.columns, estimator.costs_.feature_names
    if columns is None or names is None:
        return []
    levels = (columns[place].levels for place in range(len(columns)))
    return [
        name
        for name, known in zip(names, levels, strict=True)
        if any(type(v) is str for v in known)
    ]


def features_of(estimator: Any, frame: Any, path: Path) -> Any:
    """The rows as the model takes them: it finds its columns by name."""
    names, columns = estimator.costs_.feature_names, estimator.policy_.columns
    if names is None:
        return frame.to_numpy()
    frame = frame.rename(columns=str)
    reads = {names[column] for column in estimator.policy_.reads}
    if missing := [name for name in names if name in reads and name not in frame.columns]:
        raise ValueError(
            f"{path} has no column {some(missing)}, which the model may read: add it, empty if unknown."
        )
    if columns is not None:
        from worthwhile.cli._profile import find_dates

        dates = {name for c, name in enumerate(names) if columns[c].kind == "date"}
        return find_dates(frame, [name for name in frame.columns if name not in dates])
    return frame

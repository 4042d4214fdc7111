"""``worthwhile check``: what was promised at training, on rows whose truth is known by now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from worthwhile._messages import some
from worthwhile.cli._codes import FAILED
from worthwhile.cli._options import Data, KeyColumn, Model, keys_of
from worthwhile.cli._terminal import explained, notes, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)


def check(
    model: Model,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the truth; without it, the one column that is no feature.",
            show_default=False,
        ),
    ] = None,
    key: KeyColumn = None,
    trusted: Annotated[
        list[str] | None, typer.Option(help="Type of another library to trust.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say whether a model keeps what it promised at training, on rows whose truth is known by now.

    Mean bill, accuracy, calibration and total cost with intervals, a verdict, and the features whose
    values have changed. Ends with code 1 if the promise does not hold.

    Example: worthwhile check model.worthwhile last-month.csv --target disease
    """
    from worthwhile.persist import load
    from worthwhile.promise import check_promise

    with explained():
        estimator = load(model, trusted=trusted or [])
        evidence = _read(estimator, data, target, key)
        policy = estimator.policy_
        found = check_promise(
            estimator._promised(), evidence, policy.costs.features, policy.columns
        )
        print_json(found) if as_json else _show(found, policy.costs.unit)
        if found["holds"] is False:
            raise typer.Exit(FAILED)


def _read(estimator: Any, data: Path, target: str | None, key: str | None) -> Any:
    """What the model does with the rows of a file."""
    from worthwhile.cli._tables import read_chunks
    from worthwhile.cli.predict import as_text, features_of
    from worthwhile.promise import Evidence

    classes = estimator.policy_.output.classes
    texts = [*as_text(estimator), *([key] if key else [])]
    if target is None:
        target = _target(estimator, next(iter(read_chunks(data, say=False))), data, key)
    if classes is not None and all(type(label) is str for label in classes.tolist()):
        texts = [*texts, target]
    parts, unknown = [], 0
    for frame in read_chunks(data, as_text=texts):
        if target not in frame.columns:
            raise ValueError(
                f"--target is {target!r}, and {data} has no such column: its columns are {some(frame.columns)}."
            )
        known = frame[frame[target].notna()].reset_index(drop=True)
        unknown += len(frame) - len(known)
        if len(known):
            X = features_of(estimator, known.drop(columns=[target]), data)
            keys = None if key is None else keys_of(known, key, data)
            parts.append(estimator._evidence(X, known[target].to_numpy(), keys))
    if not parts:
        raise ValueError(f"column {target!r} of {data} is empty: give rows whose truth is known.")
    if unknown:
        notes.print(f"{unknown:,} rows without a truth are left out.")
    return Evidence.joined(parts)


def _target(estimator: Any, frame: Any, data: Path, key: str | None) -> str:
    names = estimator.costs_.feature_names
    if names is None:
        raise ValueError(
            "the model knows its features by number: say which column is the --target."
        )
    others = [str(name) for name in frame.columns if str(name) not in {*names, key}]
    if len(others) != 1:
        said = f"{some(others)} are no features" if others else "all columns are features"
        raise ValueError(f"{data}: {said}; say which column has the truth with --target.")
    return others[0]


def _show(found: dict[str, Any], unit: str) -> None:
    table = Table("", "promised", "now", f"{found['confidence']:.0%} interval", "")
    for line in found["figures"]:
        promised = "-" if line["promised"] is None else f"{line['promised']:.4g}"
        if "bound" in line:
            promised += f" (at most {line['bound']:.4g})"
        name = (
            f"{line['name']} [{unit}]"
            if unit and line["name"] in ("bill", "total")
            else line["name"]
        )
        table.add_row(
            name, promised, f"{line['now']:.4g}", f"{line['low']:.4g} to {line['high']:.4g}",
            line["verdict"],
        )  # fmt: skip
    out.print(table)
    for line in found["drifted"]:
        out.print(
            f"{line['feature']}: {line['grown']} was {line['share_then']:.0%} of the values bought, "
            f"now {line['share_now']:.0%}."
        )
    out.print(found["verdict"], soft_wrap=True)

"""Models as MLflow's pyfunc: ``budget`` is a parameter of each prediction, and the bill comes with the answer.

Needs the extra ``mlflow``.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worthwhile._messages import missing_package

if TYPE_CHECKING:
    import pandas as pd

try:
    import mlflow
    from mlflow.models import ModelSignature
    from mlflow.pyfunc import PythonModel
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
except ImportError:
    raise missing_package("worthwhile.integrations.mlflow needs", "mlflow", "mlflow") from None

FILE = "model.worthwhile"
"""The model file among the artifacts."""


class PricedPyfunc(PythonModel):
    """What MLflow loads: the model file, and how to answer with it."""

    def load_context(self, context: Any) -> None:
        """Read the model file."""
        from worthwhile.persist import load

        self._model = load(context.artifacts["model"])

    def predict(
        self, context: Any, model_input: Any, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """Predict rows with their bills.

        Parameters
        ----------
        context : PythonModelContext
            MLflow's.
        model_input : frame
            Rows; only values that are bought are looked at.
        params : dict, optional
            ``budget``: never spend more than this on a row.

        Returns
        -------
        DataFrame
            ``prediction``, ``P(class)`` for each class where the model has probabilities, ``cost``, and
            ``bought`` as a JSON list.
        """
        import pandas as pd

        model, budget = self._model, (params or {}).get("budget")
        output = model.policy_.output
        answers: dict[str, Any] = {"prediction": model.predict(model_input, budget=budget)}
        if output.has_probabilities:
            shares = model.predict_proba(model_input, budget=budget)
            answers |= {
                f"P({label})": share for label, share in zip(output.classes, shares.T, strict=True)
            }
        answers["cost"] = model.cost(model_input, budget=budget)
        names = list(model.costs_.features)
        answers["bought"] = [
            json.dumps([name for name, paid in zip(names, row, strict=True) if paid])
            for row in model.acquired(model_input, budget=budget)
        ]
        return pd.DataFrame(answers)


def signature_of(model: Any) -> Any:
    """Columns that the model may read, none of them required, and the parameter ``budget``."""
    policy = model.policy_
    budget = ParamSchema([ParamSpec("budget", DataType.double, None)])
    if policy.costs.feature_names is None:
        return ModelSignature(params=budget, outputs=Schema([ColSpec(DataType.double, "cost")]))
    columns: list[Any] = [
        ColSpec(_type_of(policy, column), policy.costs.name(column), required=False)
        for column in policy.reads.tolist()
    ]
    outputs = Schema([ColSpec(DataType.double, "cost")])
    return ModelSignature(inputs=Schema(columns), outputs=outputs, params=budget)


def _type_of(policy: Any, column: int) -> Any:
    kind = "number" if policy.columns is None else policy.columns[column].kind
    known = {"number": DataType.double, "duration": DataType.double, "boolean": DataType.boolean}
    return known.get(kind, DataType.datetime if kind == "date" else DataType.string)


def save_model(model: Any, path: str | os.PathLike[str], **options: Any) -> None:
    """Save a fitted model as a pyfunc.

    Parameters
    ----------
    model : estimator of worthwhile
        Fitted.
    path : path
        Folder to write.
    **options
        Of ``mlflow.pyfunc.save_model``.

    Examples
    --------
    ::

        from worthwhile.integrations import mlflow as priced

        priced.save_model(model, "served")
        served = mlflow.pyfunc.load_model("served")
        served.predict(patients, params={"budget": 60})
    """
    with tempfile.TemporaryDirectory() as folder:
        mlflow.pyfunc.save_model(path=os.fspath(path), **_described(model, folder, options))


def log_model(model: Any, name: str = "model", **options: Any) -> Any:
    """Log a fitted model to the current run; ``options`` are those of ``mlflow.pyfunc.log_model``."""
    with tempfile.TemporaryDirectory() as folder:
        return mlflow.pyfunc.log_model(name=name, **_described(model, folder, options))


def _described(model: Any, folder: str, options: dict[str, Any]) -> dict[str, Any]:
    """What MLflow is to write, with the file of the model in a folder that it copies from."""
    import worthwhile

    path = Path(folder) / FILE
    model.save(path)
    return {
        "python_model": PricedPyfunc(),
        "artifacts": {"model": str(path)},
        "signature": signature_of(model),
        "pip_requirements": [f"worthwhile=={worthwhile.__version__}"],
        **options,
    }

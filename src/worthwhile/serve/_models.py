"""The models that are served: files given at the start, and versions that open cases began with."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from worthwhile.costs import as_float
from worthwhile.persist import load_policy, load_promise
from worthwhile.policy.base import Policy
from worthwhile.promise import Promise
from worthwhile.serve import _operations as operations
from worthwhile.serve._database import Database
from worthwhile.serve._errors import ServiceError

OLD_VERSIONS = 16
"""Versions that are served no more, kept in memory for the cases that began with them."""


@dataclass(frozen=True)
class Model:
    """A policy under the name and version that cases refer to."""

    name: str
    version: str
    sha256: str
    policy: Policy
    promise: Promise | None

    @cached_property
    def features(self) -> list[dict[str, Any]]:
        """What people need to know of each feature that may be asked for."""
        costs = self.policy.costs
        alone = costs.flat.alone
        return [
            {
                "feature": costs.name(column),
                "price": as_float(int(alone[column])),
                **describe_column(self.policy, column),
            }
            for column in self.policy.reads.tolist()
        ]

    @property
    def labelled(self) -> bool:
        """Whether it answers with a class, not with a number."""
        return self.policy.output.classes is not None

    def describe(self) -> dict[str, Any]:
        """The model as the service tells of it."""
        classes = self.policy.output.classes
        return {
            "name": self.name,
            "version": self.version,
            "sha256": self.sha256,
            "kind": self.policy.kind,
            "classes": None if classes is None else classes.tolist(),
            "unit": self.policy.costs.unit,
            "total": self.policy.costs.total,
            "features": self.features,
            "promised": None
            if self.promise is None
            else {name: figure.mean for name, figure in self.promise.figures.items()},
        }


def describe_column(policy: Policy, column: int) -> dict[str, Any]:
    """Type of a column, and its choices where it has some."""
    if policy.columns is None:
        return {"type": "number", "choices": None}
    known = policy.columns[column]
    choices = ["true", "false"] if known.kind == "boolean" else list(known.levels)
    return {"type": known.kind, "choices": choices or None}


class Models:
    """The served models by name, and any stored version.

    Parameters
    ----------
    database : Database
        Keeps a copy of every file that was ever served.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._current: dict[str, Model] = {}
        self._known: dict[tuple[str, str], Model] = {}

    def add(self, path: str | os.PathLike[str]) -> Model:
        """Serve a file under the name of its stem, from now on."""
        content = Path(path).read_bytes()
        name = Path(path).stem
        if name in self._current:
            raise ValueError(f"two model files are called {name!r}: rename one of them.")
        sha256 = hashlib.sha256(content).hexdigest()
        model = Model(name, sha256[:12], sha256, load_policy(path), load_promise(path))
        self._database.write_now(
            lambda cursor: operations.add_model(
                cursor, name, model.version, sha256, model.policy.fingerprint(), content
            )
        )
        self._current[name] = self._known[name, model.version] = model
        return model

    @property
    def current(self) -> list[Model]:
        """What new cases may begin with, by name."""
        return [self._current[name] for name in sorted(self._current)]

    def get(self, name: str) -> Model:
        """The model of this name that is served now."""
        if name not in self._current:
            raise ServiceError(
                404,
                "unknown_model",
                f"no model is called {name!r}: /v1/models lists them.",
                models=sorted(self._current),
            )
        return self._current[name]

    async def version(self, name: str, version: str) -> Model:
        """Any version that was ever served."""
        if (name, version) not in self._known:
            content = await self._database.read(
                lambda cursor: operations.model_content(cursor, name, version)
            )
            if content is None:
                raise ServiceError(
                    404, "unknown_model", f"model {name!r} has no version {version!r}."
                )
            if len(self._known) - len(self._current) >= OLD_VERSIONS:
                self._forget_oldest()
            self._known[name, version] = stored_model(name, content)
        return self._known[name, version]

    def _forget_oldest(self) -> None:
        """Make room for another version that is served no more."""
        served = {(model.name, model.version) for model in self._current.values()}
        del self._known[next(known for known in self._known if known not in served)]


def stored_model(name: str, content: bytes) -> Model:
    """A model from the bytes of its file."""
    sha256 = hashlib.sha256(content).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.worthwhile"
        path.write_bytes(content)
        return Model(name, sha256[:12], sha256, load_policy(path), load_promise(path))

"""How the service is set up: by a file, by options, by the environment, in rising order of weight."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import yaml

PREFIX = "WORTHWHILE_SERVE_"


@dataclass(frozen=True)
class Limits:
    """What one request, one key, one process may use.

    Attributes
    ----------
    body_bytes : int
        Largest request.
    rows : int
        Most rows, or cases driven by extractors, in one request.
    open_cases : int
        Most open cases of a key.
    cached_cases : int
        Cases kept in memory, of a small model (about 10 kB each); one with more than ten values counts as
        several. Others are revived from the store.
    """

    body_bytes: int = 1_000_000
    rows: int = 1000
    open_cases: int = 10_000
    cached_cases: int = 10_000


@dataclass(frozen=True)
class Settings:
    """Everything that can be set.

    Attributes
    ----------
    models : tuple of str
        Model files; a model's name is its file's stem.
    host, port
        Where to listen. Anything but a loopback address needs API keys.
    store : str
        A file for SQLite, or postgresql://...
    extractors : str
        ``module:name`` of functions (a mapping or ``Extractors``) that fetch values on the server's side.
    secure_cookies : bool
        Send cookies over TLS only; for a service behind a proxy with TLS.
    limits : Limits
    """

    models: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8642
    store: str = "worthwhile-cases.db"
    extractors: str = ""
    secure_cookies: bool = False
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str] | None = None,
        options: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Settings:
        """Settings of a YAML file, then of the environment, then options that are not None.

        Examples
        --------
        >>> Settings.read(options={"port": 80}, environment={"WORTHWHILE_SERVE_HOST": "::1"}).port
        80
        """
        found: dict[str, Any] = _read_file(path) if path is not None else {}
        for name, text in (environment if environment is not None else os.environ).items():
            if name.startswith(PREFIX):
                found[name[len(PREFIX) :].lower()] = text
        found.update({k: v for k, v in (options or {}).items() if v not in (None, (), [])})
        limits = {f.name for f in fields(Limits)}
        known = {f.name for f in fields(cls)} - {"limits"}
        if unknown := sorted(set(found) - limits - known):
            raise ValueError(
                f"unknown setting {', '.join(unknown)}: the settings are {', '.join(sorted(known | limits))}."
            )
        values = {name: _typed(name, value) for name, value in found.items()}
        set_limits = {k: v for k, v in values.items() if k in limits}
        return cls(
            **{k: v for k, v in values.items() if k in known},
            limits=replace(Limits(), **set_limits),
        )

    @property
    def is_local(self) -> bool:
        """Whether nobody outside this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def shown(self) -> dict[str, Any]:
        """All settings without secrets, to be printed at the start."""
        flat = {**asdict(self), **asdict(self.limits)}
        flat.pop("limits")
        flat["store"] = re.sub(r"(://[^:/@]*):[^@/]*@", r"\1:***@", self.store)
        return flat


def _read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        found = yaml.safe_load(file)
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise ValueError(
            f"{path} holds no settings: write 'name: value' lines, such as 'port: 8642'."
        )
    return found


def _typed(name: str, value: Any) -> Any:
    """A setting as its type, from YAML or from text."""
    default = getattr(Settings(), name, None)
    if default is None:
        default = getattr(Limits(), name)
    try:
        if isinstance(default, tuple):
            return (
                tuple(value.split(os.pathsep)) if isinstance(value, str) else tuple(map(str, value))
            )
        if isinstance(default, bool):
            return {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]
        if isinstance(default, int):
            number = int(str(value))
            if number <= 0:
                raise ValueError
            return number
    except (KeyError, ValueError, TypeError):
        kind = {bool: "true or false", int: "a whole number > 0", tuple: "a list"}[type(default)]
        raise ValueError(f"setting {name} is {value!r}: give {kind}.") from None
    return str(value)

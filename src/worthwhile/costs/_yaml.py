"""Prices in a YAML file, with errors that say the line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from worthwhile._writing import write_whole
from worthwhile.costs._errors import Errors
from worthwhile.costs._money import to_quanta
from worthwhile.costs._reading import find_circle
from worthwhile.exceptions import CostsError

if TYPE_CHECKING:
    from worthwhile.costs._costs import Costs

DEEPEST = 8
LONGEST_KEY = 1000  # YAML looks no further than 1,024 characters for the colon behind a name
WIDEST = 40  # comments stand behind the longest line up to this
PLAIN = re.compile("[A-Za-z][A-Za-z0-9_]*")
FIELDS = ("features", "groups", "requires", "evaluation", "unit", "categorical", "dates", "errors")
ERROR_NUMBERS = ("worth", "squared", "absolute", "refer")
KINDS = ("categorical", "dates")
"""Lists of features that say what their columns are; prices do not depend on them."""


_FastLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_FastLoader):  # type: ignore[misc]
    """Composes text only: what it means is decided here, where the line is known."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012


def read_yaml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the arguments of :class:`~worthwhile.Costs` from a file."""
    return {name: value for name, value in _read(path).items() if name not in (*KINDS, "errors")}


def read_error_fields(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read the arguments of :class:`~worthwhile.Errors` from a file of prices; None without any."""
    found: dict[str, Any] | None = _read(path)["errors"]
    return found


def read_kinds(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Which columns a file of prices calls categories, and which dates."""
    found = _read(path)
    return {kind: found[kind] for kind in KINDS}


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """All that a file says."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CostsError(f"{path}: not a text file in UTF-8 ({error.reason}).") from None
    try:
        _check_depth(path, text)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark is not None else ""
        raise CostsError(
            f"{path}{where}: not valid YAML ({getattr(error, 'problem', error)})."
        ) from None
    reader = _Reader(path)
    if root is None:
        raise CostsError(
            f"{path}: the file is empty. It needs 'features:' with a price for each feature."
        )
    fields = reader.mapping(root, "the file")
    for name, node in fields.items():
        if name not in FIELDS:
            raise reader.error(node, f"unknown field {name!r}; the fields are {', '.join(FIELDS)}")
    if "features" not in fields:
        raise reader.error(root, "no 'features:'; list each feature with its price")
    prices = {
        name: reader.price(node, name)
        for name, node in reader.mapping(fields["features"], "features").items()
    }
    if not prices:
        raise reader.error(
            fields["features"], "'features:' is empty; list each feature with its price"
        )
    result: dict[str, Any] = {"prices": prices}
    if "groups" in fields:
        result["groups"] = reader.groups(fields["groups"], prices)
    if "requires" in fields:
        result["requires"] = reader.requires(fields["requires"], prices)
    if "evaluation" in fields:
        result["evaluation"] = reader.number(fields["evaluation"], "evaluation")
    if "unit" in fields:
        result["unit"] = reader.text(fields["unit"], "unit")
    result["errors"] = reader.errors(fields["errors"]) if "errors" in fields else None
    for kind in KINDS:
        result[kind] = reader.names(fields[kind], kind, prices) if kind in fields else []
    return result


def _check_depth(path: str | os.PathLike[str], text: str) -> None:
    """Refuse nesting that no price list has, before a composer follows it call by call."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            mark = event.start_mark  # stubs allow None, the parser never leaves it out
            line = mark.line + 1 if mark is not None else "?"
            raise CostsError(
                f"{path} line {line}: nested more than {DEEPEST} deep; prices are "
                "'name: value' lines under 'features:'."
            )


class _Reader:
    """Turns YAML nodes into values and remembers where they stood."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path

    def error(self, node: yaml.Node, message: str) -> CostsError:
        return CostsError(f"{self.path} line {node.start_mark.line + 1}: {message}.")

    def mapping(self, node: yaml.Node, what: str) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{what} must be 'name: value' lines")
        result: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = self.text(key, f"a name in {what}")
            if name in result:
                raise self.error(key, f"{name!r} is given twice in {what}; keep one")
            result[name] = value
        return result

    def names(self, node: yaml.Node, what: str, prices: Mapping[str, Decimal]) -> list[str]:
        """A list of features that have a price."""
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, f"{what} must be a list of features, [a, b]")
        for item in node.value:
            if (name := self.text(item, f"a feature of {what}")) not in prices:
                raise self.error(
                    item, f"{what} names {name!r}, which has no price under 'features:'"
                )
        return [str(item.value) for item in node.value]

    def text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, f"{what} must be text")
        return str(node.value)

    def number(self, node: yaml.Node, what: str) -> Decimal:
        value = self.amount(node, what)
        try:
            to_quanta(value, what)
        except CostsError as error:
            raise self.error(node, str(error).rstrip(".")) from None
        return value

    def amount(self, node: yaml.Node, what: str) -> Decimal:
        # Read the digits as written, not through a float: 0.1 is a tenth.
        try:
            value = Decimal(self.text(node, what).replace("_", ""))
        except InvalidOperation:
            raise self.error(
                node, f"{what} is {self.text(node, what)!r}; a price is a number >= 0"
            ) from None
        if not value.is_finite() or value < 0:
            raise self.error(node, f"{what} is {value}; a price is a number >= 0, 0 if it is free")
        return value

    def price(self, node: yaml.Node, name: str) -> Any:
        """A number, or the ceiling of one."""
        if not isinstance(node, yaml.MappingNode):
            return self.number(node, f"price of {name!r}")
        fields = self.mapping(node, f"price of {name!r}")
        if set(fields) != {"ceiling"}:
            raise self.error(
                node,
                f"price of {name!r} must be a number, or {{ceiling: number}} if it is known only afterwards",
            )
        return {"ceiling": self.number(fields["ceiling"], f"ceiling of {name!r}")}

    def groups(self, node: yaml.Node, prices: dict[str, Any]) -> dict[str, Any]:
        nodes = self.mapping(node, "groups")
        found = {name: self.group(spec, name, prices) for name, spec in nodes.items()}
        holds: set[str] = set()
        for name, spec in found.items():
            for outer in spec.get("within", ()):
                if outer not in found:
                    raise self.error(
                        nodes[name], f"group {name!r} stands within {outer!r}, which is no group"
                    )
                holds.add(outer)
        for name, spec in found.items():
            if "features" not in spec and name not in holds:
                raise self.error(
                    nodes[name], f"group {name!r} has no features; list them, or drop it"
                )
        place = {name: number for number, name in enumerate(found)}
        circle = find_circle([[place[g] for g in s.get("within", ())] for s in found.values()])
        if circle is not None:
            name = list(found)[circle]
            raise self.error(
                nodes[name], f"group {name!r} stands within itself, by way of its 'within'"
            )
        return found

    def group(self, node: yaml.Node, name: str, prices: dict[str, Any]) -> dict[str, Any]:
        fields = self.mapping(node, f"group {name!r}")
        if "fee" not in fields or not set(fields) <= {"fee", "features", "within"}:
            raise self.error(
                node,
                f"group {name!r} must have 'fee' and 'features', may have 'within', and nothing else",
            )
        spec: dict[str, Any] = {"fee": self.number(fields["fee"], f"fee of group {name!r}")}
        if "features" in fields:
            spec["features"] = self.features(fields["features"], name, prices)
        if "within" in fields:
            what = f"within of group {name!r}"
            inside = fields["within"]
            items = inside.value if isinstance(inside, yaml.SequenceNode) else [inside]
            spec["within"] = [self.text(item, what) for item in items]
        return spec

    def requires(self, node: yaml.Node, prices: dict[str, Any]) -> dict[str, list[str]]:
        """What each feature requires."""
        found: dict[str, list[str]] = {}
        nodes = self.mapping(node, "requires")
        for name, needed in nodes.items():
            items = needed.value if isinstance(needed, yaml.SequenceNode) else [needed]
            found[name] = [self.text(item, f"requires of {name!r}") for item in items]
            for feature in (name, *found[name]):
                if feature not in prices:
                    raise self.error(
                        needed, f"requires names {feature!r}, which has no price under 'features:'"
                    )
        place = {name: number for number, name in enumerate(prices)}
        circle = find_circle([[place[f] for f in found.get(name, ())] for name in prices])
        if circle is not None:
            name = list(prices)[circle]
            raise self.error(nodes[name], f"{name!r} requires itself, by way of what it requires")
        return found

    def errors(self, node: yaml.Node) -> dict[str, Any]:
        """Lines of a table, 'true: {predicted: price}', and settings, 'name: number'."""
        fields: dict[str, Any] = {}
        for name, given in self.mapping(node, "errors").items():
            if isinstance(given, yaml.MappingNode):
                line = self.mapping(given, f"errors of {name!r}").items()
                prices = {p: float(self.amount(n, f"errors of {name!r}")) for p, n in line}
                fields.setdefault("table", {})[name] = prices
            elif name == "refer_label":
                fields[name] = self.text(given, name)
            elif name in ERROR_NUMBERS:
                fields[name] = float(self.amount(given, name))
            else:
                raise self.error(
                    given,
                    f"errors has {name!r}: it is a true class with {{predicted: price}}, or one of "
                    f"{', '.join((*ERROR_NUMBERS, 'refer_label'))} with a number",
                )
        try:
            Errors(**fields)
        except (ValueError, TypeError) as error:
            raise self.error(node, str(error).rstrip(".")) from None
        return fields

    def features(self, node: yaml.Node, name: str, prices: dict[str, Any]) -> list[str]:
        """The members of a group."""
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, f"features of group {name!r} must be a list, [a, b]")
        if not node.value:
            raise self.error(node, f"group {name!r} has no features; list them, or drop it")
        names: list[str] = []
        for item in node.value:
            feature = self.text(item, f"a feature of group {name!r}")
            if feature not in prices:
                raise self.error(
                    item, f"group {name!r} names {feature!r}, which has no price under 'features:'"
                )
            if feature in names:
                raise self.error(item, f"{feature!r} is in group {name!r} already")
            names.append(feature)
        return names


def write_yaml(
    costs: Costs, path: str | os.PathLike[str], comments: Mapping[str, str] | None = None,
    errors: Errors | None = None,
) -> None:  # fmt: skip
    """Write the schema that :func:`read_yaml` reads, with a comment beside some prices."""
    if costs.feature_names is None:
        raise CostsError(
            "these costs have no feature names: give them names before writing a file."
        )
    lines = []
    if costs.unit:
        lines.append(f"unit: {_scalar(costs.unit)}")
    if costs.evaluation:
        lines.append(f"evaluation: {costs.evaluation}")
    lines.append("features:")
    lines += _commented(
        [f"  {_key(str(name))}: {price}" for name, price in _prices(costs)],
        [(comments or {}).get(str(name), "") for name in costs.features],
    )
    if costs.groups:
        lines.append("groups:")
    for name, group in costs.groups.items():
        spec = f"fee: {group.fee}"
        for field, names in (("features", group.features), ("within", group.within)):
            if names:
                spec += f", {field}: [{', '.join(_scalar(str(name)) for name in names)}]"
        lines.append(f"  {_key(name)}: {{{spec}}}")
    if costs.requires:
        lines.append("requires:")
    for feature, needed in costs.requires.items():
        listed = ", ".join(_scalar(str(name)) for name in needed)
        lines.append(f"  {_key(str(feature))}: [{listed}]")
    lines += [] if errors is None else ["errors:", *_error_lines(errors)]
    write_whole(path, "\n".join(lines) + "\n")


def _error_lines(errors: Errors) -> Iterator[str]:
    """Prices of errors as they are read."""
    for name in ERROR_NUMBERS:
        if (price := getattr(errors, name)) is not None:
            yield f"  {name}: {price!r}"
    if errors.refer is not None and errors.refer_label != "refer":
        yield f"  refer_label: {_scalar(str(errors.refer_label))}"
    for true, prices in (errors.table or {}).items():
        line = ", ".join(f"{_scalar(str(label))}: {price!r}" for label, price in prices.items())
        yield f"  {_key(str(true))}: {{{line}}}"


def _prices(costs: Costs) -> Iterator[tuple[Any, str]]:
    """Features with what stands beside them."""
    ceilings = set(costs.ceilings)
    for name, price in costs.prices.items():
        yield name, f"{{ceiling: {price}}}" if name in ceilings else str(price)


def _commented(lines: list[str], comments: list[str]) -> list[str]:
    """Lines with comments, which stand in one column where that is not far off."""
    place = max((len(line) for line in lines if len(line) <= WIDEST), default=0)
    return [
        f"{line:<{place}}  # {_one_line(comment)}" if comment else line
        for line, comment in zip(lines, comments, strict=True)
    ]


def _one_line(comment: str) -> str:
    """What a comment may hold: YAML knows more line ends than one."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in comment)


def _key(name: str) -> str:
    text = _scalar(name)
    return text if len(text) <= LONGEST_KEY else f"? {text}\n  "


def _scalar(text: str) -> str:
    """Text as YAML, quoted where it would be read as something else."""
    if PLAIN.fullmatch(text) and _is_text(text):
        return text
    if not text.isprintable():
        # Line ends of every kind must be escaped: a key stands on one line.
        return yaml.safe_dump(text, default_style='"', width=float("inf")).strip()
    # Flow style also quotes what would end an item of a list, such as a comma.
    dumped = yaml.safe_dump([text], default_flow_style=True, width=float("inf"), allow_unicode=True)
    return dumped.strip()[1:-1]


def _is_text(plain: str) -> bool:
    """Whether a plain word is text to every reader, and not true, null or the like."""
    tag = _RESOLVER.resolve(yaml.ScalarNode, plain, (True, False))
    return bool(tag == _RESOLVER.DEFAULT_SCALAR_TAG)


_RESOLVER: Any = yaml.resolver.Resolver()

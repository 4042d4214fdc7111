"""The OpenAPI document: what the routes say of themselves, with the models and features served here."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from worthwhile.serve._models import Model, Models

KINDS = {
    "number": {"type": "number"},
    "duration": {"type": "number", "description": "Days."},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "format": "time"},
}
"""Types of columns as JSON Schema has them; categories are enumerated."""

OTHERS = {"type": "object", "description": "Of a version that is served no more."}
GONE = {
    "type": "object",
    "description": "Cannot be had.",
    "properties": {"unavailable": {"const": True}},
    "required": ["unavailable"],
    "additionalProperties": False,
}
EMPTY = {"type": "null", "description": "Came back empty."}


def describe(app: FastAPI, models: Models) -> None:
    """Let the document of an application name what is served: it does not change while it runs."""
    generic = app.openapi

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            found = generic()
            _name_models(found, models.current)
            app.openapi_schema = found
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]


def _name_models(document: dict[str, Any], models: list[Model]) -> None:
    schemas = document["components"]["schemas"]
    names = [model.name for model in models]
    schemas["OpenRequest"]["properties"]["model"]["enum"] = names
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "name":
                    parameter["schema"]["enum"] = names
    values = []
    for model in models:
        title = f"Values of {model.name}"
        schemas[title.replace(" ", "_")] = {"title": title, **_features(model)}
        values.append({"$ref": f"#/components/schemas/{title.replace(' ', '_')}"})
    told = schemas["TellRequest"]["properties"]["values"]
    told["anyOf"] = [*values, OTHERS]


def _features(model: Model) -> dict[str, Any]:
    """The features that a model may ask for, as properties of an object."""
    return {
        "type": "object",
        "properties": {
            str(feature["feature"]): _feature(feature, model.policy.costs.unit)
            for feature in model.features
        },
    }


def _feature(feature: dict[str, Any], unit: str) -> dict[str, Any]:
    value: dict[str, Any] = KINDS.get(feature["type"], {"type": "string"})
    if feature["choices"] and feature["type"] != "boolean":
        value = {"enum": feature["choices"]}
    price = f"{feature['price']:g} {unit}".rstrip()
    return {"description": f"Costs {price} alone.", "anyOf": [value, EMPTY, GONE]}

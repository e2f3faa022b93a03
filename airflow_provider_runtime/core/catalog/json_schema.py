"""JSON Schema of the YAML documents, so that editors complete and check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import AliasChoices, BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, models_json_schema

from airflow_provider_runtime.core.catalog.documents import KINDS
from airflow_provider_runtime.core.catalog.translate import list_models
from airflow_provider_runtime.core.model.descriptions import describe_fields
from airflow_provider_runtime.core.model.scenario import INLINE_KINDS, Scenario

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REF = "#/$defs/"
JsonSchema = dict[str, Any]
SCHEMA_KINDS = (*KINDS, "scenario")


def make_schema(kind: str | None = None) -> JsonSchema:
    """Return the schema of one kind of document, or of all of them together."""
    kinds = [kind] if kind is not None else list(SCHEMA_KINDS)
    definitions = _make_definitions()
    documents = [_make_document(name) for name in kinds]
    title = f"airflow-runtime {kind}" if kind is not None else "airflow-runtime documents"
    body: JsonSchema = documents[0] if len(documents) == 1 else _join(documents)
    needed = _select(definitions, body)
    return {"$schema": DIALECT, "title": title, **body, "$defs": needed}


def _make_document(kind: str) -> JsonSchema:
    if kind == "scenario":
        return {"$ref": f"{REF}Scenario"}
    model = KINDS[kind]
    return {
        "type": "object",
        "description": (model.__doc__ or "").strip(),
        "properties": {kind: {"$ref": REF + model.__name__}},
        "required": [kind],
        "additionalProperties": False,
    }


def _join(documents: list[JsonSchema]) -> JsonSchema:
    """Return a schema for any of these documents; their keys are listed once more, so that editors complete them."""
    properties: JsonSchema = {}
    for document in documents:
        properties.update(document.get("properties", {}))
    return {"type": "object", "oneOf": documents, "properties": properties}


def _make_definitions() -> JsonSchema:
    models: list[type[BaseModel]] = [*KINDS.values(), Scenario]
    inputs: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "validation") for model in models]
    _, schema = models_json_schema(inputs, by_alias=True, schema_generator=_Generator)
    definitions: JsonSchema = schema["$defs"]
    for model in list_models(models):
        if model.__name__ in definitions:
            _describe(definitions[model.__name__], model)
    for key, kind in INLINE_KINDS.items():
        scenario = definitions["Scenario"]["properties"][key]
        scenario["items"] = {"$ref": REF + KINDS[kind].__name__}
    return definitions


class _Generator(GenerateJsonSchema):
    """Leaves out the titles that only repeat a key."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        """No titles: the key says it."""
        return False


def _describe(schema: JsonSchema, model: type[BaseModel]) -> None:
    """Put the fields' descriptions in, and the second names that some keys have."""
    descriptions = describe_fields(model)
    properties: JsonSchema = schema.get("properties", {})
    for name, info in model.model_fields.items():
        alias = info.validation_alias
        names = [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [info.alias or name]
        entry = next((properties[key] for key in names if key in properties), None)
        if entry is None:
            continue
        if name in descriptions:
            entry["description"] = descriptions[name]
        for other in names[1:]:
            properties[other] = {**entry, "description": f"The same as {names[0]}."}
            _allow_either(schema, names)


def _allow_either(schema: JsonSchema, names: list[str]) -> None:
    required: list[str] = schema.get("required", [])
    if names[0] in required:
        required.remove(names[0])
        schema.setdefault("allOf", []).append({"oneOf": [{"required": [name]} for name in names]})


def _select(definitions: JsonSchema, body: JsonSchema) -> JsonSchema:
    """Return the definitions that a schema refers to, directly or not."""
    needed: dict[str, JsonSchema] = {}
    waiting = list(_list_references(body))
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed[name] = definitions[name]
            waiting += _list_references(definitions[name])
    return dict(sorted(needed.items()))


def _list_references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(REF)
            else:
                yield from _list_references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _list_references(value)

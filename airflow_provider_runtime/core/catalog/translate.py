"""What pydantic finds wrong with a document, said in this package's words and at the place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from airflow_provider_runtime.core.catalog.definition import ALIASES, Path, SourceMap, format_path
from airflow_provider_runtime.core.catalog.rules_secrets import holds_secret
from airflow_provider_runtime.core.errors import Place, Problem
from airflow_provider_runtime.core.model.base import (
    IDENTIFIER_PATTERN,
    NAME_PATTERN,
    PRINTABLE_PATTERN,
    TITLE_PATTERN,
    Flag,
)
from airflow_provider_runtime.core.rendering import escape_control
from airflow_provider_runtime.core.suggest import find_nearest, list_names

TAGGED = {
    "target": ("table", "dataset"),
    "strategy": ("path", "table", "catalog"),
    "operations": ("update", "aggregate", "append", "delete", "output"),
    "equals": ("other", "constant"),
}
"""Keys below which pydantic puts the kind into an error's path."""
PATTERN_HINTS = {
    TITLE_PATTERN: ("name", "write it in one line, without control characters"),
    PRINTABLE_PATTERN: ("path", "remove the control character"),
    IDENTIFIER_PATTERN: (
        "identifier",
        "use letters, digits, '.', '_' and '-', beginning with a letter or a digit, without '..'",
    ),
    NAME_PATTERN: ("name", "use letters, digits and '_', not beginning with a digit"),
}
FORMS = {"between": "write [least, greatest]", "change": "write it like {from: -20%, to: 20%}"}
"""How keys that are easily written in another form are written."""
LONGEST_SHOWN = 60
LONGEST_NUMBER = 10
MAX_PROBLEMS = 100
"""Mistakes that are reported of one document."""

Explanation = tuple[str, str | None]
"""Message and hint."""


def translate_validation_error(error: ValidationError, source: SourceMap, model: type[BaseModel]) -> list[Problem]:
    """Return one problem for each thing that is wrong, at its place."""
    found = [details for details in error.errors(include_url=False) if not _is_echo(details, source)][:MAX_PROBLEMS]
    problems: list[Problem] = []
    meant: set[tuple[int | None, tuple[int | str, ...]]] = set()
    for details in found:
        if details["type"] == "extra_forbidden":
            problem, key = _translate_unknown_key(_clean_path(details["loc"])[0], source, model)
            meant.add((problem.location.operation_seq, (*details["loc"][:-1], key or "")))
        else:
            problem = _translate(details, source)
        problems.append(problem)
    return [
        problem
        for details, problem in zip(found, problems, strict=True)
        if details["type"] != "missing" or (problem.location.operation_seq, details["loc"]) not in meant
    ]


def _is_echo(details: ErrorDetails, source: SourceMap) -> bool:
    """Whether a list is called too short only because its entries are wrong, or a key is a piece of a cut value."""
    if details["type"] == "extra_forbidden":
        path, _ = _clean_path(details["loc"])
        cut = _find_cut_value(path, source)
        return cut is not None and cut[1] != str(path[-1])
    if details["type"] != "too_short":
        return False
    node, exact = source.find_node(_clean_path(details["loc"])[0])
    return exact and node is not None and bool(node.items)


def _translate(details: ErrorDetails, source: SourceMap) -> Problem:
    path, key = _clean_path(details["loc"])
    kind = details["type"]
    if kind == "union_tag_invalid":
        path = (*path, "type")
    if kind in {"missing", "union_tag_not_found"}:
        message, hint = _explain_missing(details, path)
        return Problem("CATALOG_002", message, hint, source.locate(*path))
    context = details.get("ctx") or {}
    if kind == "definition":
        path = (*path, context["field"]) if "field" in context else path
        return Problem("CATALOG_002", details["msg"], context.get("hint"), source.locate(*path))
    explain = EXPLANATIONS.get(kind)
    message, hint = explain(details, context) if explain else (_lower(details["msg"]), None)
    field = "" if key else _name_last(path)
    message = f"{field}: {message}" if field else message
    return Problem("CATALOG_002", message, hint, source.locate(*path, key=key))


def _name_last(path: Path) -> str:
    """Return the last key of a path, with the number of the entry when one of a list is meant."""
    last = next((position for position in reversed(range(len(path))) if isinstance(path[position], str)), 0)
    return format_path(path[last:])


def _clean_path(loc: tuple[int | str, ...]) -> tuple[Path, bool]:
    """Return the path in the document: without union tags, and whether the key itself is meant."""
    key = bool(loc) and loc[-1] == "[key]"
    parts = list(loc[:-1] if key else loc)
    cleaned: list[str | int] = []
    while parts:
        part = parts.pop(0)
        cleaned.append(part)
        if part == "operations" and parts and isinstance(parts[0], int):
            cleaned.append(parts.pop(0))
        if parts and parts[0] in TAGGED.get(str(part), ()):
            parts.pop(0)
    return tuple(cleaned), key


def _hide_value(place: Place) -> Place:
    """Return the place of a key whose line ends behind it: what a misspelt key holds may be a password."""
    if place.source_line is None or place.end_column is None:
        return place
    end = place.end_column - 1
    after = place.source_line[end:]
    return replace(place, source_line=place.source_line[:end] + (": …" if after.strip(" :") else after))


def _explain_missing(details: ErrorDetails, path: Path) -> Explanation:
    if details["type"] == "union_tag_not_found":
        options = TAGGED.get(str(next((part for part in reversed(path) if isinstance(part, str)), "")), ())
        return "required key 'type' is missing", f"one of: {list_names(options)}"
    return f"required key '{path[-1]}' is missing", f"add '{path[-1]}: …' here"


def _find_cut_value(path: Path, source: SourceMap) -> tuple[str, str] | None:
    """Return the key of a value in `{…}` that a comma has ended inside its brackets, and the key made of what follows.

    Only where the key at the path follows it.
    """
    parent, _ = source.find_node(path[:-1])
    names = list(parent.entries or ()) if parent is not None else []
    if parent is None or parent.entries is None or str(path[-1]) not in names:
        return None
    for name, following in pairwise(names):
        if name == str(path[-1]):
            return None
        value = parent.entries[name][1]
        if value.style == "plain" and value.text.count("(") > value.text.count(")"):
            return name, following
    return None


def _translate_unknown_key(path: Path, source: SourceMap, model: type[BaseModel]) -> tuple[Problem, str | None]:
    """Return the problem of a key that a model does not know, and the key that was probably meant."""
    message, hint, meant = _explain_unknown_key(path, source, model)
    return Problem("CATALOG_002", message, hint, _hide_value(source.locate(*path, key=True))), meant


def _explain_unknown_key(path: Path, source: SourceMap, model: type[BaseModel]) -> tuple[str, str | None, str | None]:
    """Return message and hint, and the known key that the hint names."""
    key = str(path[-1])
    parent, _ = source.find_node(path[:-1])
    known = list_keys(find_model(model, path[:-1], source))
    present = set(parent.entries or ()) if parent is not None else set()
    partner = ALIASES.get(key)
    if partner in known and partner in present:
        return f"'{key}' and '{partner}' mean the same", f"keep '{partner}' and remove '{key}'", None
    cut = _find_cut_value(path, source)
    if cut is not None:
        said = f"put the value of '{cut[0]}' into quotes: inside {{ }} a comma ends it"
        return f"unknown key '{_shorten(key)}'", said, None
    nearest = find_nearest(key, [name for name in known if name not in present]) or find_nearest(key, known)
    hint = f"did you mean '{nearest}'?" if nearest else f"known keys are: {list_names(known)}" if known else None
    return f"unknown key '{_shorten(key)}'", hint or "no keys are known here", nearest


def list_keys(model: type[BaseModel] | None) -> list[str]:
    """Return the keys that a model knows, as they are written in YAML."""
    if model is None:
        return []
    return [_names_of(name, info)[0] for name, info in model.model_fields.items()]


def find_model(model: type[BaseModel], path: Path, source: SourceMap) -> type[BaseModel] | None:
    """Return the model of the value at a path; where there are several kinds, the document's own type decides."""
    found: type[BaseModel] | None = model
    for step, part in enumerate(path):
        if isinstance(part, int) or found is None:
            continue
        entry = path[: step + 2] if isinstance(path[step + 1 : step + 2] or None, tuple) else path[: step + 1]
        choices = [inner for info in _fields_named(found, part) for inner in _models_in(info.annotation)]
        found = _choose(choices, [path[: step + 1], entry], source)
    return found


def _fields_named(model: type[BaseModel], key: str) -> list[FieldInfo]:
    """Return the field that a key of the document fills."""
    return [info for name, info in model.model_fields.items() if key in _names_of(name, info)]


def _names_of(name: str, info: FieldInfo) -> tuple[str, ...]:
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        return tuple(str(choice) for choice in alias.choices)
    return (info.alias or name,)


def _choose(choices: list[type[BaseModel]], paths: list[Path], source: SourceMap) -> type[BaseModel] | None:
    if len(choices) < 2:
        return choices[0] if choices else None
    for path in reversed(paths):
        node, exact = source.find_node((*path, "type"))
        if exact and node is not None:
            return next((choice for choice in choices if node.text in _literals(choice)), None)
    return None


def list_models(models: Iterable[type[BaseModel]]) -> list[type[BaseModel]]:
    """Return models and all that their fields hold, each once."""
    found: dict[type[BaseModel], None] = {}
    waiting = list(models)
    while waiting:
        model = waiting.pop()
        if model not in found:
            found[model] = None
            waiting += [inner for info in model.model_fields.values() for inner in _models_in(info.annotation)]
    return list(found)


def _literals(model: type[BaseModel]) -> tuple[object, ...]:
    info = model.model_fields.get("type")
    return get_args(info.annotation) if info else ()


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    origin = get_origin(annotation)
    if origin is None:
        return []
    arguments = get_args(annotation)
    if origin in {dict, Mapping}:
        arguments = arguments[1:]
    elif origin is not Union and hasattr(annotation, "__metadata__"):
        arguments = arguments[:1]
    return [found for argument in arguments for found in _models_in(argument)]


def describe_value(value: object) -> str:
    """Say in a few words what was found."""
    if value is None:
        return "nothing"
    if isinstance(value, Flag):
        return f"the boolean {value.text}"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = getattr(value, "text", None)
    return f"the number {_shorten(text)}" if text is not None else f"the text '{_shorten(str(value))}'"


def _shorten(text: str) -> str:
    if holds_secret(text):
        return "…"
    return escape_control(text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…")


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _expect(expected: str, hint: str | None = None) -> Callable[[ErrorDetails, dict[str, Any]], Explanation]:
    def explain(details: ErrorDetails, _context: dict[str, Any]) -> Explanation:
        return f"expected {expected}, found {describe_value(details['input'])}", hint

    return explain


def _find_form(details: ErrorDetails) -> str | None:
    return FORMS.get(str(details["loc"][-1])) if details["loc"] else None


def _explain_list(details: ErrorDetails, _context: dict[str, Any]) -> Explanation:
    value = details["input"]
    is_text = isinstance(value, str) and len(value) <= LONGEST_SHOWN
    hint = f"write [{_shorten(value)}]" if is_text else _find_form(details)
    return f"expected a list, found {describe_value(value)}", hint


def _explain_mapping(details: ErrorDetails, _context: dict[str, Any]) -> Explanation:
    return f"expected a mapping of keys, found {describe_value(details['input'])}", _find_form(details)


def _explain_whole_number(details: ErrorDetails, _context: dict[str, Any]) -> Explanation:
    value = details["input"]
    quoted = type(value) is str and len(value) < LONGEST_NUMBER and value.strip().lstrip("+-").isdigit()
    hint = "write it without quotes" if quoted else None
    return f"expected a whole number, found {describe_value(value)}", hint


def _explain_pattern(details: ErrorDetails, context: dict[str, Any]) -> Explanation:
    noun, hint = PATTERN_HINTS.get(str(context.get("pattern")), ("value", None))
    value = getattr(details["input"], "text", details["input"])
    return f"'{_shorten(str(value))}' is not a valid {noun}", hint


def _explain_literal(details: ErrorDetails, context: dict[str, Any]) -> Explanation:
    options = [
        option.strip().strip("'") for option in str(context.get("expected", "")).replace(" or ", ", ").split(",")
    ]
    return _explain_choice(details["input"], options)


def _explain_tag(details: ErrorDetails, context: dict[str, Any]) -> Explanation:
    options = [option.strip().strip("'") for option in str(context.get("expected_tags", "")).split(",")]
    value = details["input"]
    return _explain_choice(value.get("type") if isinstance(value, dict) else context.get("tag"), options)


def _explain_choice(value: object, options: list[str]) -> Explanation:
    text = getattr(value, "text", value)
    if not isinstance(text, str):
        return f"expected one of {list_names(options)}, found {describe_value(value)}", None
    nearest = find_nearest(text, options)
    hint = f"did you mean '{nearest}'?" if nearest else None
    return f"expected one of {list_names(options)}, found '{_shorten(text)}'", hint


def _explain_bound(word: str, key: str) -> Callable[[ErrorDetails, dict[str, Any]], Explanation]:
    def explain(details: ErrorDetails, context: dict[str, Any]) -> Explanation:
        return f"must be {word} {context.get(key)}, found {_shorten(str(details['input']))}", None

    return explain


def _explain_too_short(details: ErrorDetails, _context: dict[str, Any]) -> Explanation:
    return ("needs at least one entry" if isinstance(details["input"], tuple) else "must not be empty"), None


EXPLANATIONS: dict[str, Callable[[ErrorDetails, dict[str, Any]], Explanation]] = {
    "string_type": _expect("text"),
    "int_type": _explain_whole_number,
    "int_parsing_size": _explain_whole_number,
    "bool_type": _expect("true or false", "write true or false, without quotes"),
    "date_type": _expect("a date", "write it as YYYY-MM-DD"),
    "date_from_datetime_parsing": _expect("a date", "write it as YYYY-MM-DD"),
    "model_type": _explain_mapping,
    "model_attributes_type": _explain_mapping,
    "dict_type": _explain_mapping,
    "tuple_type": _explain_list,
    "list_type": _explain_list,
    "string_pattern_mismatch": _explain_pattern,
    "too_long": lambda _details, context: (f"is longer than {context.get('max_length')} characters", None),
    "too_short": _explain_too_short,
    "literal_error": _explain_literal,
    "union_tag_invalid": _explain_tag,
    "greater_than_equal": _explain_bound("at least", "ge"),
    "less_than_equal": _explain_bound("at most", "le"),
}

"""Documents between planning and job: from JSON's values to the dataclasses that declare them, strictly, and back.

Unknown keys are ignored and missing ones get their defaults, so that documents of other versions can be
read. Everything else that does not fit is refused with the place in the document.
"""

from __future__ import annotations

import json
import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
_Reader = Callable[[Any], Any]

NOT_IN_DOCUMENT = {"in_document": False}
"""Metadata of a field that belongs to a document and is not written into it."""


class DocumentError(ValueError):
    """A value does not fit the type that is declared for it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def __str__(self) -> str:
        return f"{'.'.join(self.path)}: {self.reason}" if self.path else self.reason


@dataclass(frozen=True, slots=True)
class Between:
    """Smallest and largest number that a document may hold."""

    least: int
    most: int

    def check(self, value: Any) -> None:
        """Raise DocumentError for a number outside."""
        if not self.least <= value <= self.most:
            raise DocumentError(f"expected a number from {self.least} to {self.most}")


@dataclass(frozen=True, slots=True)
class Matching:
    """The form that a text of a document must have."""

    pattern: str

    def check(self, value: Any) -> None:
        """Raise DocumentError for a text of another form."""
        if not re.fullmatch(self.pattern, value):
            raise DocumentError(f"expected a text like {self.pattern}")


def read_document(kind: type[T], value: Any) -> T:
    """Return a value of JSON as an instance of a dataclass; DocumentError says where it does not fit."""
    return cast(T, _make_reader(cast(Any, kind))(value))


def find_document(kind: type[T], value: Any) -> T | None:
    """Return what `read_document` does; None for what another version of the package has written in another form."""
    try:
        return read_document(kind, value)
    except DocumentError:
        return None


def write_document(value: Any) -> Any:
    """Return a dataclass as JSON's own kinds of values; what has its default is left out."""
    if is_dataclass(value):
        return {item.name: write_document(getattr(value, item.name)) for item in fields(value) if _is_set(item, value)}
    if isinstance(value, Mapping):
        return {key: write_document(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [write_document(entry) for entry in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    return value.isoformat() if isinstance(value, date) else value


def encode_canonical(value: object) -> bytes:
    """Return JSON as UTF-8 with sorted keys and no blanks; floats are refused, for they have no one spelling."""
    _refuse_floats(value, "")
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def _refuse_floats(value: object, path: str) -> None:
    if isinstance(value, float):
        raise TypeError(f"a document holds no floats: {path}")
    if isinstance(value, dict):
        for key, entry in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a document's keys are texts: {path}.{key}")
            _refuse_floats(entry, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for position, entry in enumerate(value):
            _refuse_floats(entry, f"{path}[{position}]")


def _is_set(item: Field[Any], holder: Any) -> bool:
    if not item.metadata.get("in_document", True):
        return False
    value = getattr(holder, item.name)
    # Operations are distinguished by their type, which each class has as its default.
    if item.name == "type":
        return True
    return bool(value != (item.default if item.default_factory is MISSING else item.default_factory()))


@cache
def _make_reader(kind: Any) -> _Reader:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: value
    if origin is Annotated:
        return _make_checking_reader(arguments[0], arguments[1:])
    if origin is Literal:
        return _make_choice_reader(arguments)
    if origin in (Union, types.UnionType):
        return _make_union_reader(arguments)
    if origin is tuple:
        return _make_tuple_reader(_make_reader(arguments[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _make_mapping_reader(_make_reader(arguments[1]))
    if is_dataclass(kind):
        return _make_dataclass_reader(cast(type, kind))
    return _SCALARS[kind]


def _make_checking_reader(kind: Any, checks: tuple[Any, ...]) -> _Reader:
    read = _make_reader(kind)

    def read_checked(value: Any) -> Any:
        found = read(value)
        for check in checks:
            check.check(found)
        return found

    return read_checked


def _make_choice_reader(choices: tuple[Any, ...]) -> _Reader:
    def read_choice(value: Any) -> Any:
        for choice in choices:
            if type(value) is type(choice) and value == choice:
                return choice
        raise DocumentError(f"expected one of {', '.join(map(str, choices[:8]))}")

    return read_choice


def _make_union_reader(members: tuple[Any, ...]) -> _Reader:
    given = [member for member in members if member is not type(None)]
    read = _make_reader(given[0]) if len(given) == 1 else _make_reader_by_type(given)
    if len(given) == len(members):
        return read
    return lambda value: None if value is None else read(value)


def _make_reader_by_type(members: list[Any]) -> _Reader:
    """Read one of several: choices as they are, dataclasses by their `type`."""
    if all(get_origin(member) is Literal for member in members):
        return _make_choice_reader(tuple(choice for member in members for choice in get_args(member)))
    readers = {member.__dataclass_fields__["type"].default: _make_reader(member) for member in members}

    def read_by_type(value: Any) -> Any:
        found = _expect(dict, value).get("type")
        if not isinstance(found, str) or found not in readers:
            raise DocumentError(f"expected a type of {', '.join(readers)}")
        return readers[found](value)

    return read_by_type


def _make_tuple_reader(read: _Reader) -> _Reader:
    def read_tuple(value: Any) -> tuple[Any, ...]:
        return tuple(_read_entry(read, str(index), item) for index, item in enumerate(_expect(list, value)))

    return read_tuple


def _make_mapping_reader(read: _Reader) -> _Reader:
    def read_mapping(value: Any) -> dict[str, Any]:
        return {key: _read_entry(read, key, item) for key, item in _expect(dict, value).items()}

    return read_mapping


def _make_dataclass_reader(kind: type) -> _Reader:
    hints = get_type_hints(kind, include_extras=True)
    items = [item for item in fields(kind) if item.metadata.get("in_document", True)]
    readers = [(item.name, _make_reader(hints[item.name])) for item in items]
    required = [item.name for item in items if item.default is MISSING and item.default_factory is MISSING]

    def read_dataclass(value: Any) -> Any:
        found = _expect(dict, value)
        for name in required:
            if name not in found:
                raise DocumentError(f"{name} is missing")
        return kind(**{name: _read_entry(read, name, found[name]) for name, read in readers if name in found})

    return read_dataclass


def _read_entry(read: _Reader, name: str, value: Any) -> Any:
    try:
        return read(value)
    except DocumentError as error:
        error.path.insert(0, name)
        raise


def _expect(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise DocumentError(f"expected {_NAMES[kind]}, found {_NAMES.get(type(value), type(value).__name__)}")
    return value


def _read_date(value: Any) -> date:
    try:
        return date.fromisoformat(_expect(str, value))
    except ValueError:
        raise DocumentError("expected a date") from None


def _read_timestamp(value: Any) -> datetime:
    try:
        found = datetime.fromisoformat(_expect(str, value))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise DocumentError("expected a timestamp") from None


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DocumentError("expected a number")
    return value


_NAMES: dict[type, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "a boolean", list: "a list", dict: "a mapping",
    type(None): "nothing",
}  # fmt: skip
_SCALARS: dict[Any, _Reader] = {
    str: lambda value: _expect(str, value),
    int: lambda value: _expect(int, value),
    bool: lambda value: _expect(bool, value),
    float: _read_number,
    date: _read_date,
    datetime: _read_timestamp,
}

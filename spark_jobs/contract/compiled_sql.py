"""What a snapshot may hold: SQL that the expression language compiles to, and places to read from and write to.

Spark SQL can call any Java method and read any file, and databases can be asked to run code when they are connected to.
A snapshot that was not made by this program could ask for that, so every text of SQL in it is taken apart, and anything
that the compiler never writes is refused, as are options that hold statements or name classes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from spark_jobs.contract.callable_words import CALLABLE
from spark_jobs.contract.jdbc_properties import DATABASES, find_refused_properties, is_permitted
from spark_jobs.contract.operations import (
    AppendOperation,
    Destination,
    Operation,
    OutputOperation,
    UpdateOperation,
    order_joins,
)
from spark_jobs.contract.options import KNOWN_FORMATS, moves_files, runs_code
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.problems import shorten
from spark_jobs.contract.tables import Location

_TOKEN = re.compile(
    r"\s+|/\*@[^*/]*\*/"
    r"|(?P<name>`(?:[^`]|``)*`)|(?P<text>'(?:[^'\\]|\\.)*')|(?P<word>[A-Za-z_]\w*)"
    r"|[0-9]+(?:\.[0-9]+)?(?:BD|L)?(?!\w)|->|(?P<sign>[()\[\],.+\-*/%<>=~!])"
    r"|(?P<foreign>.{1,40})",
    re.DOTALL | re.ASCII,
)
_TYPE = re.compile(r"string|bigint|boolean|date|timestamp|decimal\([0-9]{1,2},[0-9]{1,2}\)", re.IGNORECASE)
_MARKS_OF_COMMENTS = frozenset({"--", "/*", "*/"})
_DEEPEST_BRACKETS = 2000
"""More than an expression of the deepest nesting that the language allows compiles to; Spark's parser is recursive."""
_ALIAS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LITERALS = frozenset({"date", "timestamp_ltz"})
_NOT_IN_TABLE_NAMES = re.compile(r"[()'\";`\[\]\\,*\s]|--")
_TABLE_TYPE = re.compile(r"[a-z_]{1,20}|decimal\([0-9]{1,2},[0-9]{1,2}\)")
"""Columns of tables may be of any plain type, those that no dataset declares included."""
TABLE_FORMATS = ("iceberg", "delta")
_NOT_FILE_FORMATS = frozenset({"jdbc", "kafka", "socket"})
_SERVER = re.compile(rf"jdbc:(?:{'|'.join(DATABASES)}):", re.IGNORECASE)
_NAMING_SERVICE = re.compile(r"\b(?:ldaps?|rmi|iiop|corbaname|jndi|java):", re.IGNORECASE)
_FORBIDDEN = frozenset({"select", "from", "table", "values", "with"})


class UnsafePlanError(ValueError):
    """A plan asks for more than a project can."""


def check_plan(plan: Plan) -> None:
    """Raise UnsafePlanError for SQL, types and places that could do more than a project can."""
    for place in _list_places(plan):
        if (reason := _find_code(place)) is not None:
            raise UnsafePlanError(reason)
    for location in _list_locations(plan):
        # Names of tables that are written are quoted, those that are read go to the database as they are.
        names = [location.table or "", *_get_options(location, "schema")]
        for name in names if location.kind == "jdbc" else ():
            if _NOT_IN_TABLE_NAMES.search(name):
                raise UnsafePlanError(f"it holds a table that is not a name: {shorten(name, 80)}")
    for operation in _list_operations(plan):
        try:
            order_joins(operation.joins)
        except ValueError as error:
            raise UnsafePlanError(str(error)) from error
        for alias in _list_aliases(operation):
            if not _ALIAS.fullmatch(alias):
                raise UnsafePlanError(f"it holds an alias that is not a name: {shorten(alias, 80)}")
    for sql in _list_sql(plan):
        if (reason := find_foreign_part(sql)) is not None:
            raise UnsafePlanError(f"it holds SQL that no expression compiles to: {shorten(reason, 80)}")
    for location in _list_locations(plan):
        for column in location.schema:
            if not _TABLE_TYPE.fullmatch(column.type):
                raise UnsafePlanError(f"it holds an unknown type: {shorten(column.type, 80)}")
    for name in _list_types(plan):
        if not _TYPE.fullmatch(name):
            raise UnsafePlanError(f"it holds an unknown type: {shorten(name, 80)}")


def _find_code(place: Location | Destination) -> str | None:
    """Return why connecting to a place could run code; None when it cannot."""
    urls = _get_options(place, "url")
    if len({name.lower() for name in place.options}) < len(place.options):
        return "two options that differ only in case are refused"
    refused = next(find_refused_properties(place.options), None) if place.kind == "jdbc" else None
    if refused is not None:
        return f"{refused.message}; {refused.hint}"
    for name, value in place.options.items():
        if runs_code(name, value) and not (place.kind == "jdbc" and is_permitted(place.options, name)):
            return f"the option '{shorten(name, 80)}' is refused: it may hold a statement or name a class to be run"
        if moves_files(name):
            return f"the option '{shorten(name, 80)}' is refused: it would move files"
    if place.format and not _is_format(place):
        return f"it holds an unknown format: {shorten(place.format, 80)}"
    for url in urls:
        if (place.kind == "jdbc" or "jdbc:" in url.lower()) and not _SERVER.match(url):
            return f"the database of {shorten(url, 80)} is refused; known are {', '.join(DATABASES)}"
        if _NAMING_SERVICE.search(unquote(url)):
            return f"a database that a directory is asked for is refused: {shorten(url, 80)}"
    return None


def _get_options(place: Location | Destination, name: str) -> list[str]:
    """Return the values of an option: Spark takes no notice of the case of its name."""
    return [value for key, value in place.options.items() if key.strip().lower() == name]


def _is_format(place: Location | Destination) -> bool:
    """A name with dots would be taken for a class, and strict reading asks for the names in small letters."""
    name, lower = place.format, place.format.lower()
    if not (name.isascii() and name.isalnum()) or (lower in KNOWN_FORMATS and name != lower):
        return False
    if place.kind == "table":
        return name in TABLE_FORMATS
    return place.kind == name or (place.kind == "files" and lower not in _NOT_FILE_FORMATS)


def find_foreign_part(sql: str) -> str | None:
    """Return the first part of a text of SQL that the compiler never writes; None when there is none."""
    before, before_kind = "", None
    end = depth = 0
    for match in split_sql(sql):
        token, kind = match.group(), match.lastgroup
        lowered = before.lower()
        depth += (token == "(") - (token == ")")
        if (
            kind == "foreign"
            or (token == "(" and before_kind == "name")
            or (token == "(" and before_kind == "word" and lowered not in CALLABLE)
            or (kind == "text" and before_kind == "word" and lowered not in _LITERALS | CALLABLE)
            or (kind == "word" and token.lower() in _FORBIDDEN)
            or (end == match.start() and before[-1:] + token[:1] in _MARKS_OF_COMMENTS)
            or depth > _DEEPEST_BRACKETS
        ):
            return token if kind == "foreign" else before + token
        before, before_kind, end = token, kind, match.end()
    return None


def split_sql(sql: str) -> Iterator[re.Match[str]]:
    """Return the tokens of SQL without blanks and comments; their groups distinguish names, texts, words and signs.

    What is none of these ends the text, as the group `foreign`.
    """
    for match in _TOKEN.finditer(sql):
        if match.lastgroup is not None or not (match.group()[0].isspace() or match.group().startswith("/*")):
            yield match
        if match.lastgroup == "foreign":
            return


def _list_locations(plan: Plan) -> Iterator[Location]:
    for table in plan.tables.values():
        yield from table.locations


def _list_places(plan: Plan) -> Iterator[Location | Destination]:
    yield from _list_locations(plan)
    for operation in plan.operations:
        if isinstance(operation, OutputOperation):
            yield operation.destination


def _list_operations(plan: Plan) -> Iterator[Operation]:
    """Yield all operations, and those that choose the rows which an append pairs."""
    for operation in plan.operations:
        yield operation
        if isinstance(operation, AppendOperation) and operation.expand is not None:
            yield operation.expand.rows


def _list_aliases(operation: Operation) -> Iterator[str]:
    yield from (join.alias for join in operation.joins)
    if isinstance(operation, AppendOperation) and operation.expand is not None:
        yield operation.expand.alias


def _list_sql(plan: Plan) -> Iterator[str]:
    for operation in _list_operations(plan):
        if operation.where is not None:
            yield operation.where
        for join in operation.joins:
            yield join.condition
            yield from join.alternatives
            for equality in join.equalities:
                yield equality.row
                yield equality.alias
        yield from (item.sql for item in operation.expressions)
        if isinstance(operation, AppendOperation) and operation.expand is not None:
            yield operation.expand.condition
        if isinstance(operation, UpdateOperation):
            yield from (column.sql for step in operation.group_steps for column in step)
    for check in plan.checks:
        values = [sql for side in check.values for sql in (side.sql, side.where)]
        yield from (sql for sql in (check.where, check.condition, *values) if sql is not None)


def _list_types(plan: Plan) -> Iterator[str]:
    for table in plan.tables.values():
        yield from (column.type for column in table.columns)
    yield from (column.type for column in plan.input_columns)
    for operation in plan.operations:
        yield from (column.type for column in operation.adds)
        yield from (item.type for item in operation.expressions)
        if isinstance(operation, UpdateOperation):
            yield from (column.type for step in operation.group_steps for column in step)
        if isinstance(operation, OutputOperation):
            yield from (column.type for column in operation.columns)
    for check in plan.checks:
        yield from (key.type for key in check.group_by)
        yield from (side.type for side in check.values)

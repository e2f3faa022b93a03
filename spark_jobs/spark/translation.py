"""What Spark throws, in terms of the project: code, place in the YAML, column and an example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyspark.errors import PySparkException

from spark_jobs.contract.addresses import is_glob
from spark_jobs.contract.codes import Code, find_code
from spark_jobs.contract.sql import MARK_PATTERN
from spark_jobs.contract.tables import name_column, name_table
from spark_jobs.errors import FACT_MARK, RAISED_PREFIX, JobError, shorten
from spark_jobs.sources.csv_lines import find_line
from spark_jobs.sources.folder_columns import HINT as FOLDER_HINT
from spark_jobs.sources.read_errors import ENCODING_HINT, ReadFailure, find_read_failure
from spark_jobs.spark.jvm import list_causes

if TYPE_CHECKING:
    from spark_jobs.contract.operations import Expression
    from spark_jobs.contract.plan import Plan
    from spark_jobs.contract.tables import Location, Table

RAISED_CONDITION = "USER_RAISED_EXCEPTION"
DOUBLE_MATCH = "SCALAR_SUBQUERY_TOO_MANY_ROWS"
_VALUE_CONDITIONS = (
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "CAST_OVERFLOW_IN_TABLE_INSERT",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "NUMERIC_OUT_OF_SUPPORTED_RANGE",
    "ARITHMETIC_OVERFLOW",
    "BINARY_ARITHMETIC_OVERFLOW",
    "DATETIME_OVERFLOW",
    "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
    "CANNOT_PARSE_TIMESTAMP",
    "CANNOT_PARSE_DECIMAL",
    "INVALID_FRACTION_OF_SECOND",
    "INCONSISTENT_BEHAVIOR_CROSS_VERSION",
    "DIVIDE_BY_ZERO",
)
_CONDITION_IN_TEXT = re.compile(r"\[([A-Z][A-Z_]+(?:\.[A-Z_]+)*)\]([^\n]*)")
_TOO_DEEP = ("FAILED_TO_PARSE_TOO_COMPLEX", "StackOverflowError")
_VALUE_HINT = "correct the value where it comes from, or declare a type that holds it"
_NULL_HINT = "fill it where it comes from, or declare the column `nullable: true`"
REASON = "'!"
"""What is left of a text that says why a value cannot be computed: it begins with `?!`."""
_LITERAL_SUFFIX = re.compile(r"(-?[0-9][0-9.E+-]*)(?:BD|L|S|Y)")


def is_double_match(error: BaseException) -> bool:
    """Return whether a join found more than one match."""
    if any(_get_condition(item).startswith(DOUBLE_MATCH) for item in _chain(error)):
        return True
    raised = _find_raised(error)
    return DOUBLE_MATCH in str(error) or (raised is not None and raised[0].get("code") == "JOIN_010")


def translate(error: BaseException, plan: Plan) -> JobError:
    """Return an exception as the job's own."""
    raised = _find_raised(error)
    if raised is not None:
        return _describe_raised(*raised, plan)
    for item in _chain(error):
        condition = _get_condition(item)
        if condition.startswith(_VALUE_CONDITIONS):
            return _describe_value(item, condition, plan)
    text = "\n".join(line for item in _chain(error) for line in list_causes(item))
    found = [(match[1], match[0] + match[2]) for match in _CONDITION_IN_TEXT.finditer(text)]
    for condition, said in reversed(found):
        if condition.startswith(_VALUE_CONDITIONS):
            mark, column = _find_mark([], text, plan)
            return JobError("DATA_003", shorten(said), mark=mark, column=column)
    failure = find_read_failure(text)
    if failure is not None:
        return _describe_read_failure(failure, plan)
    if any(sign in text for sign in _TOO_DEEP):
        mark, _ = _find_mark([], text, plan)
        hint = "spread it over several columns or operations, or give the driver a larger stack (-Xss)"
        return JobError("EXPR_001", "an expression is nested too deeply for Spark", hint=hint, mark=mark)
    reason = found[-1][1] if found else _find_reason(error, text)
    return JobError("INFRA_001", f"Spark failed: {shorten(reason, 500)}")


def _find_reason(error: BaseException, text: str) -> str:
    """Return the deepest cause that Java gives; py4j's own message says nothing."""
    causes = [line.removeprefix("Caused by: ").removeprefix(": ") for line in text.splitlines()]
    named = [line for line in causes if re.match(r"[a-z]+(\.\w+)+(Exception|Error)\b", line)]
    return named[-1] if named else _first_line(error)


def _describe_raised(head: dict[str, str | None], text: str, plan: Plan) -> JobError:
    """Say what the job's own SQL has raised; on loading, of which table and column, and where in the files."""
    code, mark, column = find_code(head["code"]) or "INFRA_001", head.get("mark"), head.get("column")
    table = find_table(plan, mark)
    reason, *facts = text.split(FACT_MARK)
    if code not in ("DATA_002", "DATA_003") or table is None:
        return JobError(code, shorten(reason), mark=mark, column=column)
    where = _describe_place_of_value(table, column, *facts) if facts else ""
    message = shorten(f"{name_column(table, column)}: {reason}{where}", 500)
    return JobError(code, message, hint=_choose_hint(code, column, reason), mark=mark, column=column)


def _describe_place_of_value(table: Table, column: str | None, file: str, value: str) -> str:
    location = next((found for found in table.locations if found.format == "csv" and _lies_below(file, found)), None)
    line = find_line(file, column or "", value or None, location.options) if location is not None else None
    return f", in {file}" + (f", line {line}" if line is not None else "")


def _choose_hint(code: Code, column: str | None, reason: str) -> str:
    if code == "DATA_002":
        return FOLDER_HINT
    if "characters of another encoding" in reason:
        return ENCODING_HINT
    if column == "_row_id":
        return "let the source keep the row ids that this program has made, or none"
    return _NULL_HINT if reason.startswith("NULL") else _VALUE_HINT


def _describe_read_failure(failure: ReadFailure, plan: Plan) -> JobError:
    table = _find_table_of_file(plan, failure.file)
    if table is None:
        where = f"{failure.file} cannot be read" if failure.file else "data cannot be read"
        return JobError(failure.code, f"{where}: {failure.reason}", hint=failure.hint)
    code: Code = "APPEND_008" if (table.role, failure.code) == ("append", "DATA_001") else failure.code
    message = f"{name_table(table)}: {failure.file} cannot be read: {failure.reason}"
    return JobError(code, message, hint=failure.hint, mark=table.mark)


def find_table(plan: Plan, mark: str | None) -> Table | None:
    """Return the table that a mark points at."""
    return next((table for table in plan.tables.values() if table.mark == mark), None)


def _find_table_of_file(plan: Plan, file: str | None) -> Table | None:
    """Return the table whose location holds a file: the one that names the longest part of it."""
    tables = list(plan.tables.values())
    found = [
        (len(_plain_path(location.shown_uri)), index)
        for index, table in enumerate(tables)
        for location in table.locations
        if file is not None and _lies_below(file, location)
    ]
    return tables[max(found)[1]] if found else None


def _lies_below(file: str, location: Location) -> bool:
    """Return whether a file is one of a location's: patterns in its last names may stand for anything."""
    return bool(location.uri) and f"{_plain_path(file)}/".startswith(f"{_find_stem(location)}/")


def _find_stem(location: Location) -> str:
    """Return the part of a location's address that holds no pattern."""
    parts = location.uri.split("/")
    count = next((index for index, part in enumerate(parts) if is_glob(part)), len(parts))
    return _plain_path(re.sub(r"\\(.)", r"\1", "/".join(parts[:count])))


def _plain_path(uri: str) -> str:
    return re.sub(r"^file:/+", "/", unquote(uri)).rstrip("/")


def _describe_value(error: BaseException, condition: str, plan: Plan) -> JobError:
    """Name column and value; the mark comes back inside the fragment of SQL that failed."""
    fragments = list(_list_fragments(error))
    mark, column = _find_mark(fragments, str(error), plan)
    expression = find_expression(plan, mark)
    if expression is not None:
        column = expression.column
    value = _read_literal(_get_parameter(error, "expression") or _get_parameter(error, "value"))
    if value is not None and value.startswith(REASON):
        return JobError("DATA_003", value.removeprefix(REASON).rstrip("'"), mark=mark, column=column)
    what = "a value" if value is None else f"value {shorten(value, 80)}"
    target = f"column '{column}'" if column else "its type"
    kind = f" of type {expression.type}" if expression is not None else ""
    reason = "cannot be read as" if condition.startswith(("CAST_INVALID_INPUT", "CANNOT_PARSE")) else "does not fit"
    return JobError("DATA_003", f"{what} {reason} {target}{kind} ({condition})", mark=mark, column=column)


def _read_literal(value: str | None) -> str | None:
    """Return a value without the marks of its type that SQL puts at its end, and those of a text that was refused."""
    match = _LITERAL_SUFFIX.fullmatch(value or "")
    if match is None and value is not None and value.startswith("'?"):
        return f"'{value[2:]}"
    return match[1] if match else value


def find_expression(plan: Plan, mark: str | None) -> Expression | None:
    """Return the compiled expression that carries a mark."""
    if mark is None:
        return None
    items = (item for operation in plan.operations for item in operation.expressions)
    return next((item for item in items if item.mark == mark), None)


def _find_mark(fragments: list[str], text: str, plan: Plan) -> tuple[str | None, str | None]:
    for fragment in (*fragments, text):
        match = MARK_PATTERN.search(fragment)
        if match is not None:
            return match["mark"], match["column"]
    for operation in plan.operations:
        for item in operation.expressions:
            if any(fragment and fragment in item.sql for fragment in fragments):
                return item.mark, item.column
    return None, None


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _get_condition(error: BaseException) -> str:
    if not isinstance(error, PySparkException):
        return ""
    return error.getCondition() or ""


def _list_fragments(error: BaseException) -> Iterator[str]:
    if isinstance(error, PySparkException):
        for context in error.getQueryContext():
            try:
                yield context.fragment()
            except Exception:  # noqa: BLE001 - a context of a DataFrame call has no fragment
                continue


def _get_parameter(error: BaseException, name: str) -> str | None:
    if not isinstance(error, PySparkException):
        return None
    return (error.getMessageParameters() or {}).get(name)


def _find_raised(error: BaseException) -> tuple[dict[str, str | None], str] | None:
    """Find what `errors.raise_sql` raised, wherever Spark has put it."""
    for item in _chain(error):
        whole = str(item)
        for text in (_get_parameter(item, "errorMessage"), whole if RAISED_CONDITION in whole else None):
            if text and RAISED_PREFIX in text:
                rest = text[text.index(RAISED_PREFIX) + len(RAISED_PREFIX) :]
                try:
                    head, end = json.JSONDecoder().raw_decode(rest)
                except ValueError:
                    continue
                return head, _first_text_line(rest[end:])
    return None


def _first_line(error: BaseException) -> str:
    return _first_text_line(str(error))


def _first_text_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "").split(" SQLSTATE:")[0]

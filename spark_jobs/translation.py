"""What Spark throws, in terms of the project: code, place in the YAML, column and an example."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from spark_jobs.errors import MARK_PATTERN, RAISED_PREFIX, JobError, shorten

if TYPE_CHECKING:
    from spark_jobs.snapshot import Expression, Plan

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
_RECORD_CONDITIONS = ("MALFORMED_RECORD_IN_PARSING", "MALFORMED_CSV_RECORD", "MALFORMED_CHARACTER_CODING")
_HEADER_SIGNS = ("CSV header does not conform to the schema", "Number of column in CSV header is not equal")
_CONDITION_IN_TEXT = re.compile(r"\[([A-Z][A-Z_]+(?:\.[A-Z_]+)*)\]([^\n]*)")
_FILE_CONDITIONS = ("FAILED_READ_FILE", "CANNOT_READ_FILE_FOOTER", "PATH_NOT_FOUND", "CANNOT_LOAD_STATE_STORE")


def is_double_match(error: BaseException) -> bool:
    """Tell whether a join found more than one match."""
    if any(_get_condition(item).startswith(DOUBLE_MATCH) for item in _chain(error)):
        return True
    raised = _find_raised(error)
    return DOUBLE_MATCH in str(error) or (raised is not None and raised[0].get("code") == "JOIN_010")


def translate(error: BaseException, plan: Plan) -> JobError:
    """Return an exception as the job's own."""
    raised = _find_raised(error)
    if raised is not None:
        head, text = raised
        return JobError(str(head["code"]), shorten(text), mark=head.get("mark"), column=head.get("column"))
    for item in _chain(error):
        condition = _get_condition(item)
        if condition.startswith(_VALUE_CONDITIONS):
            return _describe_value(item, condition, plan)
        if condition.startswith(_RECORD_CONDITIONS):
            return JobError(
                "DATA_003", shorten(_first_line(item)), hint="repair the file, or its options in the datasource"
            )
    for item in _chain(error):
        condition = _get_condition(item)
        if condition.startswith(_FILE_CONDITIONS):
            return JobError("DATA_001", f"data cannot be read: {shorten(_first_line(item))}")
    return _translate_text(error, plan)


def _translate_text(error: BaseException, plan: Plan) -> JobError:
    """Explain an exception that arrives as Java's own: its causes are only in its text, the deepest one last."""
    text = "\n".join(str(item) for item in _chain(error))
    found = [(match[1], match[0] + match[2]) for match in _CONDITION_IN_TEXT.finditer(text)]
    for condition, said in reversed(found):
        if condition.startswith(_VALUE_CONDITIONS):
            mark, column = _find_mark([], text, plan)
            return JobError("DATA_003", shorten(said), mark=mark, column=column)
        if condition.startswith(_RECORD_CONDITIONS):
            hint = "repair the file, or its options in the datasource"
            return JobError("DATA_003", f"a record of a file cannot be read: {shorten(said)}", hint=hint)
    for sign in _HEADER_SIGNS:
        if sign in text:
            hint = "give all files of a location the same columns in the same order"
            return JobError("DATA_002", f"the header of a CSV file is not like that of the others: {sign}", hint=hint)
    for condition, said in reversed(found):
        if condition.startswith(_FILE_CONDITIONS):
            return JobError("DATA_001", f"data cannot be read: {shorten(said)}")
    reason = found[-1][1] if found else _first_line(error)
    return JobError("INFRA_001", f"Spark failed: {shorten(reason, 500)}")


def _describe_value(error: BaseException, condition: str, plan: Plan) -> JobError:
    """Name column and value; the mark comes back inside the fragment of SQL that failed."""
    fragments = list(_list_fragments(error))
    mark, column = _find_mark(fragments, str(error), plan)
    expression = find_expression(plan, mark)
    if expression is not None:
        column = expression.column
    value = _get_parameter(error, "expression") or _get_parameter(error, "value")
    what = "a value" if value is None else f"value {shorten(value, 80)}"
    target = f"column '{column}'" if column else "its type"
    kind = f" of type {expression.type}" if expression is not None else ""
    reason = "cannot be read as" if condition.startswith(("CAST_INVALID_INPUT", "CANNOT_PARSE")) else "does not fit"
    return JobError("DATA_003", f"{what} {reason} {target}{kind} ({condition})", mark=mark, column=column)


def find_expression(plan: Plan, mark: str | None) -> Expression | None:
    """Return the compiled expression that carries a mark."""
    if mark is None:
        return None
    for operation in plan.operations:
        for group in ("assignments", "aggregations", "columns"):
            for item in getattr(operation, group, ()):
                if getattr(item, "mark", None) == mark:
                    return item  # type: ignore[no-any-return]
    return None


def _find_mark(fragments: list[str], text: str, plan: Plan) -> tuple[str | None, str | None]:
    for fragment in (*fragments, text):
        match = MARK_PATTERN.search(fragment)
        if match is not None:
            return match["mark"], match["column"]
    for operation in plan.operations:
        for group in ("assignments", "aggregations", "columns"):
            for item in getattr(operation, group, ()):
                sql = getattr(item, "sql", "")
                if any(fragment and fragment in sql for fragment in fragments):
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

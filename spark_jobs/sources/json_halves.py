"""Halves of surrogate pairs in JSON: no characters, of which Spark's reader makes `?` without a word.

The files' lines are looked at beside the rows, in the same pass: as many bytes are read again, and nothing is parsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.options import drop_options, get_option
from spark_jobs.contract.sql import quote_name, quote_text
from spark_jobs.errors import raise_sql
from spark_jobs.sources.csv_lines import MOST_CHARACTERS_SHOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from spark_jobs.sources.columns import Wanted

_LINE = "`@line`"
_ESCAPE = r"(?<!\\)(?:\\\\)*\\u"
_FIRST, _SECOND = "[dD][89abAB][0-9a-fA-F]{2}", "[dD][c-fC-F][0-9a-fA-F]{2}"
HALF = rf"{_ESCAPE}(?:{_FIRST}(?!\\u{_SECOND})|(?<!\\u{_FIRST}\\u){_SECOND})"
_OF_JSON = ("lineSep", "encoding", "charset", "wholetext")


def read_lines(spark: SparkSession, uri: str, options: Mapping[str, str]) -> DataFrame | None:
    """Return the files' lines with their file; None where they are not in UTF-8, in which alone they can be read."""
    encoding = get_option(options, "encoding") or get_option(options, "charset") or "UTF-8"
    if encoding.upper().replace("_", "-") not in ("UTF-8", "UTF8", "US-ASCII"):
        return None
    lines = spark.read.options(**drop_options(options, *_OF_JSON)).schema(f"{_LINE} string").text(uri)
    return lines.selectExpr(_LINE, "_metadata.file_path AS `@file`")


def refuse_halves(lines: DataFrame, columns: list[Wanted], mark: str) -> DataFrame:
    """Return no rows, with these columns, and fail where a line holds half of a pair."""
    shown = f"substr({_LINE}, 1, {MOST_CHARACTERS_SHOWN})"
    message = f"concat('half of a surrogate pair, which is not a character, in the line ', {shown})"
    refused = raise_sql("DATA_003", message, mark=mark, file_sql="`@file`", value_sql=shown)
    # The first test is quick and leaves few lines for the second one.
    may_hold = " OR ".join(f"contains({_LINE}, {quote_text(start)})" for start in (r"\ud", r"\uD"))
    found = f"({may_hold}) AND {_LINE} RLIKE {quote_text(HALF)}"
    # Spark looks at no line whose columns some later filter leaves out, unless what is asked first may be another
    # answer each time.
    nothing = lines.where(f"CASE WHEN {found} THEN {refused} ELSE rand() < 0 END")
    typed = [f"try_cast({_LINE} AS {column.type}) AS {quote_name(column.name)}" for column in columns]
    return nothing.selectExpr(*typed)

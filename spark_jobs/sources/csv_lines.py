"""The line of a CSV file that holds a value which Spark has refused; Spark knows the file only."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import os
from collections.abc import Iterator, Mapping
from typing import IO, Any
from urllib.parse import unquote

from spark_jobs.contract.addresses import is_local
from spark_jobs.contract.options import get_option
from spark_jobs.spark.storage import get_local_path

MOST_CHARACTERS_SHOWN = 100
_MOST_BYTES = 256 << 20


def find_line(file: str, column: str, value: str | None, options: Mapping[str, str]) -> int | None:
    """Return the first line with this value in this column, None when it is not found; looks into local files only.

    Of a value its beginning will do; None is a value that is missing.
    """
    if not is_local(file):
        return None
    try:
        with _open(get_local_path(unquote(file)), get_option(options, "encoding")) as lines:
            return _search(lines, column, value or "", options)
    except (OSError, ValueError, LookupError, EOFError, csv.Error):
        # It is only looked for to help; the value and the file are known.
        return None


def _open(path: str, encoding: str | None) -> IO[str]:
    openers: Mapping[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    opened = openers.get(os.path.splitext(path)[1], io.FileIO)(path)
    return io.TextIOWrapper(io.BufferedReader(opened), encoding=encoding or "utf-8-sig", errors="replace", newline="")


def _search(lines: IO[str], column: str, value: str, options: Mapping[str, str]) -> int | None:
    delimiter = get_option(options, "delimiter") or get_option(options, "sep") or ","
    quote = get_option(options, "quote") or '"'
    records = csv.reader(_bound(lines), delimiter=delimiter.replace("\\t", "\t"), quotechar=quote)
    index: int | None = None
    if (get_option(options, "header") or "true").lower() == "true":
        index = next(records).index(column)
    begin = records.line_num + 1
    for record in records:
        fields = record if index is None else record[index : index + 1]
        if any(field[:MOST_CHARACTERS_SHOWN].strip() == value.strip() for field in fields):
            return begin
        begin = records.line_num + 1
    return None


def _bound(lines: IO[str]) -> Iterator[str]:
    left = _MOST_BYTES
    for line in lines:
        left -= len(line)
        if left < 0:
            return
        yield line

"""Long lists of a table's files are kept in a document beside the snapshot, which holds their digests.

    <sha256>.json                   the snapshot: a location has `file_list`, the digest of its list, instead of `files`
    <sha256>.json.files             the lists by their digests

So the snapshot's digest covers them too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from spark_jobs.contract.documents import encode_canonical
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.tables import Location, Table

MAX_FILES_IN_PLACE = 10_000
"""A table with more files has its lists beside the snapshot."""
SUFFIX = ".files"
ReadLists = Callable[[], bytes]


class WrongListError(ValueError):
    """Lists are not those that a snapshot was made with; the text says why."""


def take_out_lists(plan: Plan) -> tuple[Plan, bytes]:
    """Return a plan without its long lists, and the document that holds them; empty when there are none."""
    lists: dict[str, tuple[str, ...]] = {}
    tables = {key: _take_out(table, lists) for key, table in plan.tables.items()}
    return (replace(plan, tables=tables), encode_canonical(lists)) if lists else (plan, b"")


def fill_in_lists(plan: Plan, read: ReadLists | None) -> tuple[Plan, bytes]:
    """Return a plan with all its lists, and the document that holds them; WrongListError when it is another one."""
    if not any(location.file_list for table in plan.tables.values() for location in table.locations):
        return plan, b""
    if read is None:
        raise WrongListError("the lists of its files, which are kept beside it, were not given")
    content = read()
    lists = _read_lists(content)
    tables = {key: _fill_in(table, lists) for key, table in plan.tables.items()}
    return replace(plan, tables=tables), content


def _take_out(table: Table, lists: dict[str, tuple[str, ...]]) -> Table:
    if sum(len(location.files) for location in table.locations) <= MAX_FILES_IN_PLACE:
        return table

    def take(location: Location) -> Location:
        if not location.files:
            return location
        digest = _digest(location.files)
        lists[digest] = location.files
        return replace(location, files=(), file_list=digest)

    return replace(table, locations=tuple(map(take, table.locations)))


def _fill_in(table: Table, lists: Mapping[str, Any]) -> Table:
    def fill(location: Location) -> Location:
        if location.file_list is None:
            return location
        files = lists.get(location.file_list)
        if not isinstance(files, list) or _digest(tuple(files)) != location.file_list:
            raise WrongListError(
                "the lists of its files, which are kept beside it, are not those that it was made with"
            )
        return replace(location, files=tuple(files), file_list=None)

    return replace(table, locations=tuple(map(fill, table.locations)))


def _read_lists(content: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _digest(files: tuple[str, ...]) -> str:
    return hashlib.sha256(encode_canonical(files)).hexdigest()

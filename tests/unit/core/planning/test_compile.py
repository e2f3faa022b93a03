"""Compiled operations of a project, as golden files; write them anew with UPDATE_GOLDEN=1."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from airflow_provider_runtime.core.expr.run_constants import RunConstants
from airflow_provider_runtime.core.planning.snapshot.compile import CompiledOperations, compile_operations
from spark_jobs.contract.documents import write_document
from spark_jobs.contract.operations import Read, UpdateOperation
from tests.unit.core.planning.project_builder import aggregate, append, check_operations, delete, join, output, update

GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 2, 1, tzinfo=UTC)
RUN = RunConstants(NOW, "2026-01", date(2026, 1, 1), date(2026, 1, 31), "2025-12")
OPERATIONS = (
    update(
        "'amount * c.discount'",
        more="joins: [{alias: c, dataset_id: customers, on: 'orders.customer_id = c.id AND c.tier = regions.manager'}, "
        "{alias: r, dataset_id: rates, on: 'r.currency = c.tier AND r.valid_from <= ordered_on'}], ",
        selector="'{{EMEA}} AND c.tier = \"gold\"'",
    ),
    update("'CONCAT(_labels, \"it''s \", region)'", "_labels", seq=20),
    aggregate("'SUM(amount * regions.weight) / COUNT(*)'", "average", group_by="[orders.region, _period]", seq=30),
    append(
        "plan",
        ", source_selector: 'kind = \"x\"', aggregation: {group_by: [region], "
        "aggregations: [{column: amount, expression: SUM(value)}, {column: quantity, expression: COUNT(*)}]}",
        seq=40,
    ),
    append("budget", seq=50),
    delete("'people.tier IS NULL OR shipped_at < NOW()'", seq=60),
    output(", columns: [region, total, average, _period]", seq=70),
    output(destination="{datasource_id: dwh, table: orders}", seq=80).replace(
        "type: output,", "type: output, selector: 'total > 0',"
    ),
)


def compile_all() -> CompiledOperations:
    """Compile the operations above."""
    checked = check_operations(*OPERATIONS, selectors="EMEA: 'orders.region = \"EMEA\"'")
    assert checked.problems == ()
    return compile_operations(checked.project, run=RUN)


def compare(name: str, document: object) -> None:
    """Compare a document with its golden file."""
    path = GOLDEN / f"{name}.json"
    text = json.dumps(document, indent=1, ensure_ascii=False).replace(str(Path.cwd()), "<catalog>") + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_project_compiles_to_its_golden_plan() -> None:
    compiled = compile_all()
    shown = []
    for operation in compiled.operations:
        document = write_document(operation)
        shown.append(document)
    compare("project_plan", {"operations": shown, "used_tables": sorted(compiled.used_tables)})


def test_every_mark_in_the_plan_has_its_place() -> None:
    compiled = compile_all()
    text = json.dumps([write_document(operation) for operation in compiled.operations])
    named = {*re.findall(r"/\*@(.*?)\*/", text), *re.findall(r'"mark": "(.*?)"', text)}
    assert len(named) > 10
    assert named <= set(compiled.marks)
    place = compiled.marks["10:assignments[0].expression"]
    assert (place.file, place.line, place.operation_seq) == ("project.yaml", 8, 10)
    assert place.field == "operations[0].arguments.assignments[0].expression"


def test_join_lists_used_columns_without_its_own_condition() -> None:
    joins = {join.alias: join for join in compile_all().operations[0].joins}
    assert list(joins) == ["regions", "c", "r"]
    assert joins["c"].columns == ("tier", "discount")
    assert joins["r"].columns == ()
    assert joins["c"].key == ("customer_id",)
    assert len(joins["c"].equalities) == 2
    assert compile_all().operations[0].where_aliases == ("c",)


def test_lookup_that_nothing_uses_is_not_joined() -> None:
    checked = check_operations(update("amount"))
    compiled = compile_operations(checked.project, run=RUN)
    assert compiled.operations[0].joins == ()
    assert compiled.used_tables == {"input"}


def test_join_that_nothing_uses_stays() -> None:
    checked = check_operations(update("amount", more=join("customer_id = c.id")))
    compiled = compile_operations(checked.project, run=RUN)
    assert [item.alias for item in compiled.operations[0].joins] == ["c"]


def test_draft_writes_below_the_sandbox() -> None:
    checked = check_operations(output(), output(destination="{type: csv, path: /data/out}", seq=91))
    compiled = compile_operations(checked.project, run=RUN, sandbox="lake")
    uris = [operation.destination.uri for operation in compiled.operations if operation.type == "output"]
    assert [uri.rpartition("/data/")[2] for uri in uris] == ["close/lake/out", "close/inline/data_out"]


def test_table_keys_are_replaced() -> None:
    checked = check_operations(append("budget"))
    compiled = compile_operations(checked.project, run=RUN, table_keys={"append:10": "t7"})
    assert write_document(compiled.operations[0])["source"] == "t7"


def test_plan_says_what_each_operation_reads_and_adds() -> None:
    first, labels, *_ = compile_all().operations
    assert isinstance(first, UpdateOperation)
    (total,) = first.assignments
    assert total.reads == (Read("amount"), Read("discount", "c"))
    assert {read.alias for read in first.where_reads} == {None, "c"}
    assert [column.name for column in first.adds] == [total.column]
    assert labels.adds == ()
    assert [join.earlier_aliases for join in first.joins] == [frozenset(), {"regions"}, {"c"}]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("region", False),
        ('IF(region = "EMEA", CONCAT(region, "+ 1"), UPPER(region))', False),
        ("NULL", False),
        ("amount + amount", True),
        ("-amount", True),
        ("ABS(amount)", True),
        ("IF(amount > 0, amount * 2, amount)", True),
    ],
)
def test_plan_says_which_values_can_fail(expression: str, expected: bool) -> None:
    checked = check_operations(update(f"'{expression}'"))
    (operation,) = compile_operations(checked.project, run=RUN).operations
    assert isinstance(operation, UpdateOperation)
    assert operation.assignments[0].can_fail is expected

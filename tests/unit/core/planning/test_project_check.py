"""Following the schema through a project: types of added columns, cascades, registered datasets, statuses."""

from __future__ import annotations

from airflow_provider_runtime.core.catalog.catalog import Catalog, registered_dataset_id
from airflow_provider_runtime.core.catalog.loader import load_texts
from airflow_provider_runtime.core.errors import Problem
from airflow_provider_runtime.core.planning.check.project import (
    ProjectChecks,
    check_project,
    check_runnable,
    explain_missing_project,
)
from airflow_provider_runtime.core.planning.check.registered import infer_output_schema
from tests.unit.core.planning.project_builder import (
    CATALOG,
    HEAD,
    aggregate,
    append,
    check_operations,
    check_text,
    delete,
    join,
    output,
    update,
)


def types_of(*operations: str) -> dict[str, str]:
    """Return the types of the added columns after the last operation."""
    checked = check_operations(*operations)
    assert checked.problems == ()
    return {c.name: str(c.type) for c in checked.project.operations[-1].columns_after if c.origin == "added"}


def codes_of(problems: tuple[Problem, ...]) -> list[str]:
    """Return the problems' codes."""
    return [problem.code for problem in problems]


def test_added_column_has_common_type_of_all_that_is_put_in() -> None:
    assert types_of(update("quantity"), update("amount", seq=20)) == {"total": "decimal(22,2)"}


def test_added_column_has_final_type_from_the_first_operation_on() -> None:
    checked = check_operations(update("quantity"), update("amount", seq=20))
    first = {column.name: column.type for column in checked.project.operations[0].columns_after}
    assert str(first["total"]) == "decimal(22,2)"
    assert [str(e.type) for o in checked.project.operations for e in o.expressions] == ["decimal(22,2)"] * 2


def test_widened_column_widens_what_is_computed_from_it() -> None:
    found = types_of(update("amount"), update("'total / 3'", "third", seq=20), update("'0.12345'", seq=30))
    assert found == {"total": "decimal(21,5)", "third": "decimal(25,9)"}


def test_column_computed_from_itself_settles() -> None:
    found = types_of(update("amount"), update("'total * 1.1'", seq=20), update("'total * 1.1'", seq=30))
    assert found == {"total": "decimal(24,4)"}


def test_columns_computed_from_each_other_settle() -> None:
    found = types_of(update("amount", "a"), update("'a + 0.5'", "b", seq=20), update("'b + 0.25'", "a", seq=30))
    assert set(found) == {"a", "b"}


def test_append_fills_an_added_column_with_its_type() -> None:
    found = types_of(
        update("'1.5'", "value"), update("NULL", "kind", seq=11), update("NULL", "note", seq=12), append("plan", seq=20)
    )
    assert found == {"value": "decimal(18,4)", "kind": "string", "note": "string"}


def test_aggregate_widens_an_added_column() -> None:
    assert types_of(update("amount"), aggregate("SUM(amount)", seq=20)) == {"total": "decimal(38,2)"}


def test_declared_columns_become_nullable_after_an_aggregate() -> None:
    checked = check_operations(update("amount"), aggregate("SUM(amount)", seq=20))
    before, after = (
        {column.name: column.nullable for column in operation.columns_after} for operation in checked.project.operations
    )
    assert (before["order_id"], after["order_id"]) == (False, True)


def test_wrong_expression_silences_what_depends_on_its_column() -> None:
    checked = check_operations(
        update("'amont * 2'"),
        update("'total * 3'", "more", seq=20),
        aggregate("SUM(total)", "sums", seq=30),
        output(", columns: [total, more]"),
    )
    assert codes_of(checked.problems) == ["EXPR_002"]


def test_unknown_join_dataset_silences_its_alias() -> None:
    operation = update("c.tier", more=join("customer_id = c.id", dataset="nowhere"), selector="'c.tier = \"x\"'")
    assert codes_of(check_operations(operation).problems) == ["JOIN_001"]


def test_all_mistakes_are_reported_at_once() -> None:
    checked = check_operations(
        update("'amont + qantity'"),
        delete("'regin = 1'", seq=20),
        append("nowhere", seq=30),
        output(", columns: [x]", destination="{datasource_id: none, table: t}"),
    )
    assert sorted(codes_of(checked.problems)) == [
        "APPEND_001", "EXPR_002", "EXPR_002", "EXPR_002", "OUTPUT_001", "OUTPUT_002",
    ]  # fmt: skip


def test_used_selector_is_reported_once_at_its_own_place() -> None:
    checked = check_operations(
        delete("'{{BAD}}'"), delete("'{{BAD}} OR amount = 0'", seq=20), selectors="BAD: 'regin = \"x\"'"
    )
    (problem,) = checked.problems
    assert problem.code == "EXPR_002"
    assert problem.message == "Invalid selector expression: unknown column 'regin'"
    assert problem.location.field == "selectors.BAD"
    assert problem.location.operation_seq == 10
    assert (problem.location.source_line or "")[problem.location.column - 1 :].startswith("regin")


def test_unused_selector_is_checked_after_the_last_operation() -> None:
    good = check_operations(update("amount"), selectors="LATE: 'total > 1'")
    assert good.problems == ()
    bad = check_operations(update("amount"), selectors="LATE: 'totl > 1', TEXT: region")
    assert codes_of(bad.problems) == ["EXPR_002", "EXPR_004"]


def test_selectors_may_not_refer_to_each_other() -> None:
    checked = check_operations(delete("'{{A}}'"), selectors="A: '{{B}}', B: 'amount > 1'")
    assert codes_of(checked.problems) == ["EXPR_001"]


def test_seq_must_be_positive_and_unique() -> None:
    checked = check_operations(update("amount", seq=0), update("amount", "b", seq=7), update("amount", "c", seq=7))
    assert codes_of(checked.problems) == ["PROJECT_003", "PROJECT_003"]
    assert [problem.location.field for problem in checked.problems] == ["operations[0].seq", "operations[2].seq"]


def test_input_dataset_must_exist_be_active_and_have_the_version() -> None:
    operations = "operations: [" + update("amount") + "]}"
    for reference, code in (
        ("ordrs", "DATASET_001"),
        ("retired", "DATASET_002"),
        ("orders, input_dataset_version: 4", "DATASET_003"),
        ("customers, input_dataset_version: 3", "DATASET_002"),
    ):
        head = f"project: {{id: close, name: close, version: 1, input_dataset_id: {reference}, "
        assert codes_of(check_text(head + operations).problems) == [code]


def test_mistakes_that_need_no_input_are_reported_beside_an_unknown_input() -> None:
    operations = ", ".join((
        update("c.tier", more=join("customer_id = c.id", dataset="customrs")),
        update("SUMM(amount)", seq=20),
        update("amuont", seq=30),
        append("budgt", seq=40),
    ))  # fmt: skip
    head = "project: {id: close, name: close, version: 1, input_dataset_id: ordrs, "
    problems = check_text(head + f"operations: [{operations}]}}").problems
    assert codes_of(problems) == ["DATASET_001", "JOIN_001", "EXPR_003", "APPEND_001"]


def load_projects(*projects: str) -> Catalog:
    """Return a catalog with projects, each a flow mapping."""
    loaded = load_texts({"catalog.yaml": CATALOG, "projects.yaml": "\n---\n".join(f"project: {p}" for p in projects)})
    assert loaded.problems == ()
    return loaded.catalog


def make_project(name: str, source: str, *operations: str, status: str = "active") -> str:
    """Return a project as a flow mapping."""
    head = f"id: {name}, name: {name}, version: 1, status: {status}, input_dataset_id: {source}"
    return f"{{{head}, operations: [{', '.join(operations)}]}}"


MONTHLY = output(", columns: [region, amount, total], register_as_dataset: Monthly sales")


def test_registered_dataset_has_the_schema_of_its_output() -> None:
    catalog = load_projects(make_project("a", "orders", update("amount * 2"), MONTHLY))
    project = catalog.find_project("a")
    assert project is not None
    dataset = infer_output_schema(check_project(catalog, project), 90)
    assert dataset is not None
    assert (dataset.id, dataset.name) == (registered_dataset_id("Monthly sales"), "Monthly sales")
    assert dataset.main_table.name == "Monthly_sales"
    assert dataset.main_table.temporal_mode == "period"
    assert [(c.name, str(c.data_type)) for c in dataset.main_table.columns] == [
        ("region", "string"), ("amount", "decimal(18,2)"), ("total", "decimal(38,2)"),
    ]  # fmt: skip


def test_registered_dataset_is_known_to_other_projects_in_a_chain() -> None:
    catalog = load_projects(
        make_project("c", "Final", update("'twice + total'", "x")),
        make_project("b", "Monthly sales", update("'total * 2'", "twice"), output(", register_as_dataset: Final")),
        make_project("a", "orders", update("amount * 2"), MONTHLY),
    )
    checks = ProjectChecks(catalog)
    for name in "abc":
        project = catalog.find_project(name)
        assert project is not None
        assert checks.check(project).problems == ()
    bad = load_projects(
        make_project("b", registered_dataset_id("Monthly sales"), update("totl", "twice")),
        make_project("a", "orders", update("amount * 2"), MONTHLY),
    )
    project = bad.find_project("b")
    assert project is not None
    assert codes_of(check_project(bad, project).problems) == ["EXPR_002"]


def test_column_that_a_mistake_keeps_away_is_not_unknown_to_the_next_project() -> None:
    catalog = load_projects(
        make_project("a", "orders", update("amont * 2"), MONTHLY),
        make_project("b", "Monthly sales", update("'total * 2'", "twice")),
    )
    checks = ProjectChecks(catalog)
    found = []
    for name in "ab":
        project = catalog.find_project(name)
        assert project is not None
        found += checks.check(project).problems
    assert [(problem.code, problem.location.project) for problem in found] == [("EXPR_002", "a")]


def test_projects_that_feed_each_other_give_a_problem_and_no_hang() -> None:
    catalog = load_projects(
        make_project("a", "B", output(", register_as_dataset: A")),
        make_project("b", "A", output(", register_as_dataset: B")),
    )
    project = catalog.find_project("a")
    assert project is not None
    checks = ProjectChecks(catalog)
    found = [*checks.check(project).problems]
    other = catalog.find_project("b")
    assert other is not None
    found += checks.check(other).problems
    assert {problem.code for problem in found} == {"DATASET_001"}


def test_inactive_project_and_draft_without_sandbox_cannot_run() -> None:
    catalog = load_projects(
        make_project("a", "orders", update("amount"), status="inactive"),
        make_project("b", "orders", update("amount"), status="draft"),
    )
    inactive, draft = (catalog.find_project(name, 1) for name in "ab")
    assert inactive is not None
    assert draft is not None
    assert [problem.code for problem in check_runnable(catalog, inactive)] == ["PROJECT_002"]
    assert [problem.code for problem in check_runnable(catalog, draft)] == ["PROJECT_002"]
    assert check_runnable(catalog, draft, sandbox="lake") == []
    assert explain_missing_project(catalog, "a").code == "PROJECT_002"
    assert explain_missing_project(catalog, "aa").code == "PROJECT_001"


def test_lookup_to_unknown_dataset_is_reported_at_the_dataset() -> None:
    catalog = CATALOG.replace("{type: dataset, id: customers}", "{type: dataset, id: custmers}")
    checked = check_text(HEAD + f"    - {update('people.tier')}\n", catalog)
    assert set(codes_of(checked.problems)) == {"DATASET_001"}
    assert {problem.location.file for problem in checked.problems} == {"catalog.yaml"}

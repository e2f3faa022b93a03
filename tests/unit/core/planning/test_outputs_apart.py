"""Outputs of one project that would write over each other are refused when the project is checked."""

from __future__ import annotations

import pytest

from tests.unit.core.planning.project_builder import check_operations, output, update

LAKE = "{datasource_id: lake, table: out}"
DWH = "{datasource_id: dwh, table: out}"
INLINE = "{type: jdbc, table: t, options: {url: 'jdbc:postgresql://db/x'}}"
DWH_URL = "'jdbc:postgresql://db/dwh'"


@pytest.mark.parametrize(
    ("first", "second", "met"),
    [
        (LAKE, LAKE, "is the folder lake/out"),
        (LAKE, "{datasource_id: lake, path: ./Out/}", "is the folder lake/out"),
        (LAKE, "{datasource_id: lake, path: out/details}", "is inside the folder lake/out"),
        ("{datasource_id: lake, path: out/details}", LAKE, "holds the folder lake/out/details"),
        (LAKE, "{type: csv, path: data/x/../out}", "is the folder lake/out"),
        ("{type: csv, path: 's3a://b/out'}", "{type: csv, path: 's3a://B/out/'}", "is the folder s3a://b/out"),
        ("{type: csv, path: '/o/a%20b'}", "{type: csv, path: 'file:/o/a b'}", "is the folder /o/a%20b"),
        (DWH, "{datasource_id: dwh, table: finance.OUT}", "is the table dwh/finance.out"),
        (DWH, f"{{type: JDBC, table: finance.out, options: {{URL: {DWH_URL}}}}}", "is the table dwh/finance.out"),
    ],
)
def test_overlapping_outputs(first: str, second: str, met: str) -> None:
    columns = ", columns: [order_id, _period]"
    written = (output(columns, destination=first, seq=10), output(columns, destination=f"«{second}", seq=20))
    checked = check_operations(*[text.replace("«", "") for text in written])
    (problem,) = checked.problems
    assert (problem.code, problem.message) == ("OUTPUT_002", f"output 20 meets output 10: it {met}")
    assert problem.location.operation_seq == 20
    assert problem.location.field == "operations[1].arguments.destination"
    assert problem.hint == "give every output its own place"


def test_table_whose_schema_only_the_database_knows() -> None:
    columns = ", columns: [order_id, _period]"
    named = INLINE.replace("table: t", "table: public.T")
    for first, second in ((INLINE, named), (named, INLINE)):
        written = (output(columns, destination=first, seq=10), output(columns, destination=second, seq=20))
        (problem,) = check_operations(*written).problems
        assert problem.code == "OUTPUT_002"
        assert problem.message.startswith("output 20 meets output 10: it may be the table jdbc/")
        assert problem.hint == "name the schema in both"


@pytest.mark.parametrize(
    ("destination", "is_cut"),
    [
        (f"{{datasource_id: dwh, table: {'a' * 63}}}", False),
        (f"{{datasource_id: dwh, table: {'a' * 64}}}", True),
        (f"{{datasource_id: dwh, table: {'ä' * 32}}}", True),
        (f"{{datasource_id: dwh, table: t, schema: {'a' * 64}}}", True),
        (INLINE.replace("table: t", f"table: s.{'a' * 64}"), True),
        (INLINE.replace("table: t", f"table: {'a' * 64}").replace("postgresql", "mysql"), False),
    ],
)
def test_name_that_postgresql_would_cut(destination: str, *, is_cut: bool) -> None:
    problems = check_operations(output(", columns: [_period]", destination=destination)).problems
    assert [problem.code for problem in problems] == ["OUTPUT_002"] * is_cut
    assert all("more than 63 bytes" in problem.message for problem in problems)


def test_column_that_postgresql_would_cut() -> None:
    long = "a" * 64
    change = update("amount", long)
    (problem,) = check_operations(change, output(f", columns: [_period, {long}]", destination=DWH)).problems
    assert (problem.code, problem.location.field) == ("OUTPUT_002", "operations[1].arguments.columns")
    assert check_operations(change, output(f", columns: [_period, {long}]", destination=LAKE)).problems == ()


@pytest.mark.parametrize("name", ["period", "Period"])
def test_column_that_the_folder_of_the_period_takes_the_place_of(name: str) -> None:
    change = update("region", name)
    for columns, place in ((f", columns: [_period, {name}]", ".columns"), ("", "")):
        (problem,) = check_operations(change, output(columns, destination=LAKE)).problems
        assert (problem.code, problem.location.field) == ("OUTPUT_002", f"operations[1].arguments{place}")
        assert f"cannot have the column '{name}': readers see the folder period=… in its place" in problem.message
    assert check_operations(change, output(", columns: [_period]", destination=LAKE)).problems == ()
    assert check_operations(change, output(f", columns: [_period, {name}]", destination=DWH)).problems == ()


@pytest.mark.parametrize("path", [".out.runtime", "x/.A.Runtime/staging", "./.out.runtime/"])
def test_staging_folder_as_a_destination(path: str) -> None:
    (problem,) = check_operations(output(destination=f"{{datasource_id: lake, path: '{path}'}}")).problems
    assert problem.code == "OUTPUT_002"
    assert "in which outputs are staged" in problem.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LAKE, "{datasource_id: lake, table: out2}"),
        (LAKE, DWH),
        (DWH, "{datasource_id: dwh, table: out, schema: other}"),
        (INLINE, "{type: jdbc, table: t2, options: {url: 'jdbc:postgresql://db/x'}}"),
        ("{type: csv, path: 's3a://b/out'}", "{type: csv, path: 's3a://c/out'}"),
    ],
)
def test_outputs_that_are_apart(first: str, second: str) -> None:
    columns = ", columns: [order_id, _period]"
    written = (output(columns, destination=first, seq=10), output(columns, destination=second, seq=20))
    assert check_operations(*written).problems == ()


def test_name_that_is_registered_twice() -> None:
    one = output(", register_as_dataset: Totals", seq=10)
    two = output(", register_as_dataset: Totals", destination="{datasource_id: lake, table: two}", seq=20)
    (problem,) = check_operations(one, two).problems
    assert (problem.code, problem.message) == ("CATALOG_003", "output 10 registers the dataset 'Totals' already")
    assert problem.location.field == "operations[1].arguments.register_as_dataset"

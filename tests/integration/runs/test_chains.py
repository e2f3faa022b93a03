"""Projects that read what other projects registered."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.run import command
from airflow_provider_runtime.core.errors import DataError, PeriodError, RuntimeProviderError
from spark_jobs.sources import slices
from tests.integration.runs.workplace import Workplace, make_output, make_project, make_update, money

pytestmark = [pytest.mark.spark, pytest.mark.integration]


@pytest.fixture
def chain(workplace: Workplace) -> Workplace:
    """`first` registers; `latest` joins the newest version, `pinned` version 2; `reader` has it as input."""
    registered = make_output(20, "first", columns=["shop", "amount", "double"], register_as_dataset="Doubled Sales")
    workplace.write_catalog("first.yaml", make_project("first", [make_update(10, double="amount * 2"), registered]))
    for name, version in (("latest", {}), ("pinned", {"dataset_version": 2})):
        join = {"alias": "d", "dataset_id": "Doubled Sales", "on": "sales.shop = d.shop", **version}
        operations = [make_update(10, [join], found="d.double"), make_output(20, name, columns=["shop", "found"])]
        workplace.write_catalog(f"{name}.yaml", make_project(name, operations))
    operations = [make_output(20, "reader", columns=["shop", "double"])]
    workplace.write_catalog("reader.yaml", make_project("reader", operations, input_dataset_id="Doubled Sales"))
    workplace.write_sales("2026-01", north="10.00", south="5.00")
    workplace.write_sales("2026-02", north="7.00")
    return workplace


def test_a_registered_output_is_read_latest_pinned_and_as_input(chain: Workplace) -> None:
    assert chain.run("first", "2026-01").registrations[0].version == 1
    assert chain.run("first", "2026-02").registrations[0].version == 2
    chain.write_sales("2026-01", north="100.00", south="5.00")
    assert chain.run("first", "2026-01").registrations[0].version == 3

    chain.run("latest", "2026-01")
    chain.run("pinned", "2026-01")
    chain.run("reader", "2026-01")

    assert chain.read("latest", "shop", "found") == [("north", money("200.00")), ("south", money("10.00"))]
    assert chain.read("pinned", "shop", "found") == [("north", money("20.00")), ("south", money("10.00"))]
    assert chain.read("reader", "shop", "double") == [("north", money("200.00")), ("south", money("10.00"))]


def test_rows_of_several_periods_with_one_timestamp_have_ids_of_their_own(chain: Workplace) -> None:
    total = {"group_by": ["shop"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
    kept = [
        {"seq": 10, "name": "total", "type": "aggregate", "arguments": total},
        make_output(20, "kept", register_as_dataset="Kept"),
    ]
    chain.write_catalog("kept.yaml", make_project("kept", kept))
    quarter = [make_output(10, "quarter", columns=["_row_id", "shop", "_period"])]
    chain.write_catalog("quarter.yaml", make_project("quarter", quarter, input_dataset_id="Kept", level="quarter"))
    chain.write_sales("2026-02", north="10.00", south="5.00")
    for period in ("2026-01", "2026-02"):
        chain.run("kept", period)
    chain.run("quarter", "2026-Q1")
    ids = [found for (found,) in chain.read("quarter", "_row_id")]
    assert len(set(ids)) == len(ids) == 8


def test_a_snapshot_executed_again_reads_the_versions_it_had(chain: Workplace) -> None:
    chain.run("first", "2026-01")
    snapshot = chain.resolve("latest", "2026-01")
    chain.execute(snapshot)
    before = chain.read("latest", "shop", "found")

    chain.write_sales("2026-02", north="99.00")
    chain.write_catalog("latest.yaml", make_project("latest", [make_output(20, "elsewhere")], version=2))
    first = chain.resolve("first", "2026-02")
    chain.execute(first)
    assert chain.execute(snapshot).succeeded

    assert chain.read("latest", "shop", "found") == before


def test_the_same_snapshot_registers_no_new_version(chain: Workplace) -> None:
    snapshot = chain.resolve("first", "2026-01")
    assert chain.execute(snapshot).registrations[0].version == 1
    assert chain.execute(snapshot).registrations[0].version == 1
    assert [found.version for found in chain.registry.list_versions("Doubled Sales")] == [1]


def test_the_same_snapshot_over_other_rows_registers_a_new_version(chain: Workplace) -> None:
    snapshot = chain.resolve("first", "2026-01")
    assert chain.execute(snapshot).registrations[0].version == 1
    chain.write_sales("2026-01", north="10.00", south="6.00")
    assert chain.execute(snapshot).registrations[0].version == 2


@pytest.mark.parametrize("most_bytes", [1 << 20, 0])
def test_slice_whose_files_were_replaced_is_not_read(
    chain: Workplace, monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    monkeypatch.setattr(slices, "MOST_BYTES_READ_AGAIN", most_bytes)
    for period in ("2026-01", "2026-02"):
        chain.run("first", period)
    chain.run("reader", "2026-01")
    found = chain.registry.find_version("Doubled Sales")
    assert found is not None
    (january, february) = (Path(found.slices[i].uri[7:]) for i in (0, 1))
    january.rename(january.with_name("aside"))
    january.symlink_to(february)
    result = chain.execute(chain.resolve("reader", "2026-01"))
    assert [problem.code for problem in result.problems] == ["DATA_001"]
    assert "were replaced" in result.problems[0].message
    january.unlink()
    january.with_name("aside").rename(january)
    chain.run("reader", "2026-01")


def test_a_period_that_was_never_registered_has_no_data(chain: Workplace) -> None:
    chain.run("first", "2026-01")
    with pytest.raises(DataError, match="DATA_001"):
        chain.execute(chain.resolve("reader", "2026-02"))


def test_a_dataset_that_no_run_has_registered_is_an_error_when_resolving(chain: Workplace) -> None:
    with pytest.raises(RuntimeProviderError, match="DATASET_001"):
        chain.resolve("reader", "2026-01")


def test_running_a_period_again_leaves_the_other_period_alone(chain: Workplace) -> None:
    chain.run("first", "2026-01")
    chain.run("first", "2026-02")
    chain.write_sales("2026-01", north="1.00")
    chain.run("first", "2026-01")
    assert chain.read("first", "period", "shop", "double") == [
        ("2026-01", "north", money("2.00")),
        ("2026-02", "north", money("14.00")),
    ]


def test_a_locked_period_is_not_run_and_a_lock_during_a_run_keeps_it_from_publishing(chain: Workplace) -> None:
    snapshot = chain.resolve("first", "2026-01")
    chain.registry.set_period_status("gregorian", "2026-01", "locked", who="auditor", reason="audit is done")
    with pytest.raises(PeriodError, match="PERIOD_002"):
        chain.execute(snapshot)
    with pytest.raises(PeriodError, match="PERIOD_002"):
        chain.resolve("first", "2026-01")
    assert not (chain.folder / "out" / "first").exists()


def test_the_command_runs_a_project_that_pins_an_older_version(
    chain: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        chain.run("first", "2026-01")
        chain.write_sales("2026-01", north="10.00", south="5.00", west=f"{number}.00")
    monkeypatch.chdir(chain.folder)
    arguments = ["--project", "pinned", "--period", "2026-01", "--dry-run", "--registry", chain.url]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    assert "pinned, period 2026-01" in result.output

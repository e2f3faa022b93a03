"""How many columns and files a project bears: time and memory of a run's planning, size of the snapshot, and the run.

    python benchmarks/limits.py [--quick]

Columns are each added to, summed and written. Files are of ten rows each: one folder that is listed, and a Delta table
whose log names them. Spark has one driver of 1 GiB. It prints the lines of a table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from compare import Family
from deltalake import DeltaTable
from deltalake.schema import Schema
from deltalake.transaction import AddAction, create_table_with_add_actions

COLUMNS, FILES = (50, 500), (10_000, 100_000)
COMMAND = [sys.executable, "-m", "airflow_provider_runtime.cli.main"]
HEAD = """\
datasource: {{id: lake, type: {kind}, path_prefix: ../data}}
---
datasource: {{id: out, type: parquet, path_prefix: ../out}}
---
resolver:
  id: lake
  version: 1
  is_default: true
  rules: [{{name: all, strategy: {{type: {strategy}, datasource_id: lake, {place}: "{{{{table_name}}}}"}}}}]
---
"""


def write_catalog(folder: Path, columns: int, kind: str = "parquet") -> None:
    """Write a project that adds to every column, sums each by key, and writes them all."""
    names = [f"amount_{number}" for number in range(columns)]
    schema = [{"name": "code", "type": "string"}]
    schema += [{"name": name, "type": "decimal", "precision": 18, "scale": 2} for name in names]
    table = {"name": "ledger", "temporal_mode": "period", "columns": schema}
    dataset = {"id": "ledger", "name": "Ledger", "version": 1, "main_table": table}
    assignments = [{"column": name, "expression": f"{name} + 1"} for name in names]
    sums = [{"column": f"total_{name}", "expression": f"SUM({name})"} for name in names]
    output = {"destination": {"datasource_id": "out", "path": "o"}}
    operations = [
        {"seq": 1, "name": "Add", "type": "update", "arguments": {"assignments": assignments}},
        {"seq": 2, "name": "Sum", "type": "aggregate", "arguments": {"group_by": ["code"], "aggregations": sums}},
        {"seq": 3, "name": "Write", "type": "output", "arguments": output},
    ]
    project = {"id": "p", "name": "p", "version": 1, "input_dataset_id": "ledger", "operations": operations}
    strategy, place = ("table", "table") if kind == "delta" else ("path", "path")
    head = HEAD.format(kind=kind, strategy=strategy, place=place)
    (folder / "catalog").mkdir()
    documents = (json.dumps({"dataset": dataset}), json.dumps({"project": project}))
    (folder / "catalog" / "all.yaml").write_text(head + "\n---\n".join(documents) + "\n", encoding="utf-8")


def write_files(folder: Path, columns: int, files: int) -> Path:
    """Write a file of ten rows, and give it as many names as there should be files."""
    ledger = folder / "data" / "ledger"
    ledger.mkdir(parents=True)
    amount = pa.array([Decimal(number) for number in range(10)], pa.decimal128(18, 2))
    texts = {"code": pa.array(["a", "b"] * 5), "_period": pa.array(["2026-01"] * 10)}
    first = ledger / "part-0.parquet"
    pyarrow.parquet.write_table(pa.table({**texts, **{f"amount_{n}": amount for n in range(columns)}}), first)
    for number in range(1, files):
        # A file system lets no file have more than some 32,000 names.
        path = ledger / f"part-{number}.parquet"
        if number % 10_000:
            os.link(first, path)
        else:
            path.write_bytes(first.read_bytes())
            first = path
    return ledger


def name_in_delta_log(ledger: Path) -> None:
    """Make a Delta table of the files of a folder."""
    files = sorted(ledger.glob("*.parquet"))
    schema = Schema.from_arrow(pyarrow.parquet.read_schema(files[0]))
    actions = [
        AddAction(path.name, path.stat().st_size, {}, int(path.stat().st_mtime * 1000), True, '{"numRecords": 10}')
        for path in files
    ]
    create_table_with_add_actions(str(ledger), schema, actions, mode="append", partition_by=[])
    assert len(DeltaTable(ledger).file_uris()) == len(files)


def measure(what: str, folder: Path) -> str:
    """Return a line: the command `resolve`, what it writes, and the command `run`."""
    resolved = time_command("resolve", "--output", "snapshots/", folder=folder)
    size = sum(path.stat().st_size for path in (folder / "snapshots").rglob("*") if path.is_file())
    memory = ["--conf", "spark.driver.memory=1g"]
    ran = time_command("run", *memory, folder=folder)
    return f"| {what} | {resolved[0]:.1f} | {resolved[1]:.0f} | {size / 1024:.0f} | {ran[0]:.1f} | {ran[1]:.0f} |"


def time_command(name: str, *arguments: str, folder: Path) -> tuple[float, float]:
    """Return seconds and MiB of a command for the project."""
    begin = time.perf_counter()
    chosen = ["--project", "p", "--period", "2026-01"]
    process = subprocess.Popen(
        [*COMMAND, name, *chosen, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with Family(process.pid) as family:
        said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{name} failed:\n{said[-3000:]}")
    return time.perf_counter() - begin, family.peak_mib


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few and small, to see that it works")
    options = parser.parse_args()
    columns, files = ((5,), (20,)) if options.quick else (COLUMNS, FILES)
    cases = [(f"{count} columns", "parquet", count, 1) for count in columns]
    cases += [(f"{count:,} files, listed", "parquet", 2, count) for count in files]
    cases += [(f"{count:,} files of a Delta table", "delta", 2, count) for count in files]
    print("| what | resolve s | MiB | snapshot KiB | run s | MiB |\n| --- | --- | --- | --- | --- | --- |")
    for what, kind, width, count in cases:
        with tempfile.TemporaryDirectory() as name:
            ledger = write_files(Path(name), width, count)
            if kind == "delta":
                name_in_delta_log(ledger)
            write_catalog(Path(name), width, kind)
            print(measure(what, Path(name)), flush=True)


if __name__ == "__main__":
    main()

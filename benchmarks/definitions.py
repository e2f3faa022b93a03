"""Times of the commands on definitions alone: one project, a large catalog, ten thousand expressions.

Run it with `.venv/bin/python benchmarks/definitions.py`; it prints one line a measurement, with the target.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path

DATASETS, PROJECTS, OPERATIONS, COLUMNS, EXPRESSIONS = 1_000, 200, 10, 20, 10_000
EXPRESSION_SHAPES = (
    "IF(t.col_1 > {n} AND NOT ISNULL(j.col_3), ROUND(t.col_1 * j.col_3, 2), COALESCE(col_5, {n}.5))",
    'col_0 = "EMEA {n}" OR UPPER(TRIM(col_2)) IN ("A", "B", "C") AND col_1 BETWEEN {n} AND 5000',
    "(col_1 + col_3 - col_5) * {n} / (col_7 + 1)",
    'CONCAT(LEFT(col_0, 3), "-", REPLACE(col_2, "x", "{n}"))',
)


def write_catalog(folder: Path, datasets: int, projects: int) -> None:
    """Write datasets of twenty columns and projects of ten operations."""
    for number in range(datasets):
        columns = "\n".join(f"      - {write_column(index)}" for index in range(COLUMNS))
        (folder / f"dataset_{number}.yaml").write_text(
            f"dataset:\n  id: ds-{number}\n  name: Dataset {number}\n  version: 1\n  main_table:\n"
            f"    name: t\n    temporal_mode: period\n    columns:\n{columns}\n"
        )
    for number in range(projects):
        operations = "\n".join(f"    - {write_operation(index, datasets)}" for index in range(OPERATIONS))
        (folder / f"project_{number}.yaml").write_text(
            f"project:\n  id: p-{number}\n  name: project-{number}\n  version: 1\n"
            f"  input_dataset_id: ds-{number % datasets}\n  operations:\n{operations}\n"
        )


def write_column(index: int) -> str:
    """Return a column: strings and decimals take turns."""
    if index % 2:
        return f"{{name: col_{index}, type: decimal, precision: 18, scale: 2}}"
    return f"{{name: col_{index}, type: string}}"


def write_operation(index: int, datasets: int) -> str:
    """Return an update with a join and two assignments."""
    join = f"{{alias: j, dataset_id: ds-{index % datasets}, on: 't.col_0 = j.col_0'}}"
    first = f"{{column: added_{index}, expression: col_1 * 2}}"
    second = f"{{column: more_{index}, expression: 'IF(col_1 > {index}, col_3, j.col_5)'}}"
    arguments = f"{{joins: [{join}], assignments: [{first}, {second}]}}"
    return f"{{seq: {index + 1}, name: step {index}, type: update, selector: 'col_0 = \"x\"', arguments: {arguments}}}"


def time_command(*arguments: str) -> float:
    """Return the wall time of a command, interpreter start included; the best of three."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        command = [sys.executable, "-m", "airflow_provider_runtime.cli.main", *arguments]
        subprocess.run(command, check=True, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return best


def time_expressions(count: int) -> float:
    """Return the time to parse, check and compile expressions, all of them different."""
    from airflow_provider_runtime.core.expr.checker import check_expression
    from airflow_provider_runtime.core.expr.run_constants import RunConstants
    from airflow_provider_runtime.core.expr.scope import Relation, Scope, ScopeColumn
    from airflow_provider_runtime.core.expr.spark_sql import compile_sql
    from airflow_provider_runtime.core.model.schema import STRING, make_decimal

    columns = {f"col_{index}": ScopeColumn(make_decimal(18, 2) if index % 2 else STRING) for index in range(COLUMNS)}
    scope = Scope(Relation("t", "working", columns), {"j": Relation("j", "join", columns)})
    run = RunConstants(datetime(2026, 2, 1, tzinfo=UTC), "2026-01", date(2026, 1, 1), date(2026, 1, 31))
    texts = [EXPRESSION_SHAPES[number % len(EXPRESSION_SHAPES)].format(n=number) for number in range(count)]
    start = time.perf_counter()
    for text in texts:
        result = check_expression(text, scope)
        assert result.expression is not None, (text, result.problems)
        compile_sql(result.expression, run=run)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        small, large = Path(name, "small"), Path(name, "large")
        small.mkdir()
        large.mkdir()
        write_catalog(small, OPERATIONS, 1)
        write_catalog(large, DATASETS, PROJECTS)
        measured = {
            "validate one project": (time_command("validate", "--catalog", str(small), "--project", "p-0"), 0.7),
            "validate one project of a large catalog": (
                time_command("validate", "--catalog", str(large), "--project", "p-0"),
                None,
            ),
            f"validate {DATASETS} datasets and {PROJECTS} projects": (
                time_command("validate", "--catalog", str(large)),
                10.0,
            ),
            f"parse, check and compile {EXPRESSIONS} expressions": (time_expressions(EXPRESSIONS), 8.0),
        }
    for what, (seconds, target) in measured.items():
        print(f"{what:55} {seconds:6.2f} s" + (f"   (target {target} s)" if target else ""))


if __name__ == "__main__":
    main()

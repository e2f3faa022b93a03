"""What a new user types, as the README and the tutorial have it."""

from __future__ import annotations

import itertools
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from tests.command_line import call, invoke

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.timeout(420)]


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    call(folder, "airflow-runtime", "init", "books")
    return folder / "books"


def read_rows(books: Path, name: str, period: str) -> list[dict[str, object]]:
    files = sorted((books / "warehouse" / name / f"period={period}").glob("*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def test_starter_validates_and_its_scenarios_pass(books: Path) -> None:
    assert "valid" in call(books, "airflow-runtime", "validate")
    shown = call(books, "airflow-runtime", "test", "scenarios")
    assert "1 passed, 0 failed" in shown
    assert "log level" not in shown


@pytest.mark.usefixtures("commands_share_spark")
def test_starter_runs_twice_with_the_same_rows(books: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("airflow-runtime", "run", "--project", "fx-conversion", "--period", "2026-01..2026-02")
    shown = call(books, *command)
    first = read_rows(books, "account_totals", "2026-01")
    monkeypatch.chdir(books)
    again = invoke(*command[1:])

    assert again.exit_code == 0, again.output
    assert "Account Totals version 2" in shown
    assert len(first) == 3
    assert sorted(map(str, read_rows(books, "account_totals", "2026-01"))) == sorted(map(str, first))


@pytest.mark.usefixtures("commands_share_spark")
def test_change_under_the_same_version_is_refused_until_the_version_is_raised(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(books)
    path = books / "catalog" / "fx_conversion.yaml"
    text = path.read_text("utf-8")
    run = ("run", "--project", "fx-conversion", "--period", "2026-03")
    assert invoke(*run).exit_code == 0
    path.write_text(text.replace("amount_local * fx.rate, 2", "fx.rate * amount_local, 2"), encoding="utf-8")

    assert "CATALOG_005" in invoke(*run, "--dry-run").output
    path.write_text(path.read_text("utf-8").replace("version: 1", "version: 2"), encoding="utf-8")
    assert "nothing was run" in invoke(*run, "--dry-run").output
    path.write_text(text, encoding="utf-8")


@pytest.mark.chaos
@pytest.mark.airflow
def test_starter_runs_as_a_dag(books: Path) -> None:
    lines = (books / "airflow.env").read_text("utf-8").replace("$PWD", str(books)).splitlines()
    pairs = [line.split("=", 1) for line in lines if not line.startswith("#")]
    environment = {name: value.strip("'") for name, value in pairs}
    call(books, "airflow", "db", "migrate", **environment)
    call(books, "airflow", "dags", "test", "fx-conversion", "2026-02-15", **environment)

    assert len(read_rows(books, "account_totals", "2026-02")) == 3


@pytest.mark.chaos
@pytest.mark.timeout(1200)
def test_demo_prints_its_page_and_the_ui_shows_its_runs() -> None:
    done = subprocess.run(
        ["bash", "scripts/with_java", sys.executable, "scripts/demo.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Monthly Close v3" in done.stdout
    assert "make ui" in done.stdout

    command = ["bash", "scripts/with_java", sys.executable, "scripts/demo.py", "--ui"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as ui:
        try:
            assert ui.stdout is not None
            shown = "".join(itertools.takewhile(lambda line: not line.startswith("stop:"), ui.stdout))
            address = re.search(r"Airflow UI: +(http://\S+)/dags/fx-close", shown)
            login = re.search(r"login: +(\w+) / (\w+)", shown)
            assert address is not None
            assert login is not None
            assert list_periods(address[1], login[1], login[2]) == ["2026-01", "2026-02", "2026-03"]
        finally:
            ui.send_signal(signal.SIGINT)
            ended = ui.wait(timeout=60)
    assert ended == 0


def list_periods(address: str, user: str, password: str) -> list[str]:
    with httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
        token = client.post("/auth/token", json={"username": user, "password": password}).json()["access_token"]
        answer = client.get("/api/v2/dags/fx-close/dagRuns", headers={"Authorization": f"Bearer {token}"}).json()
    return sorted(run["partition_key"] for run in answer["dag_runs"] if run["state"] == "success")

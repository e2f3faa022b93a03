"""What Spark lacks is reported before it is started."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from airflow_provider_runtime.cli import spark_requirements
from airflow_provider_runtime.cli.spark_requirements import require_java, require_pyspark
from airflow_provider_runtime.core.errors import InfrastructureError


@pytest.fixture
def java(tmp_path: Path) -> Path:
    """A folder with a program called java."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return tmp_path


def test_java_on_the_path_is_enough(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(java / "bin"))
    require_java()


def test_java_home_goes_before_the_path(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(java / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(java))
    require_java()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(InfrastructureError, match="JAVA_HOME is /nowhere, which has no bin/java"):
        require_java()


def test_no_java_at_all_is_reported_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InfrastructureError) as raised:
        require_java()
    (problem,) = raised.value.problems
    assert problem.code == "INFRA_001"
    assert "install Java 17 or 21" in (problem.hint or "")


@pytest.mark.parametrize(
    ("spark", "client", "is_refused"),
    [("4.2.0", "4.2.0", False), ("4.2.1", "4.2.0", False), ("4.3.0", "4.2.0", True), ("4.2.0", None, False)],
)
def test_two_versions_in_one_folder_are_refused(
    spark: str, client: str | None, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_requirements, "_find_version", {"pyspark": spark, "pyspark-client": client}.get)
    if not is_refused:
        require_pyspark()
        return
    with pytest.raises(InfrastructureError, match=r"pyspark 4\.3\.0 and pyspark-client 4\.2\.0") as raised:
        require_pyspark()
    assert "pyspark==4.2.0 pyspark-client==4.2.0" in str(raised.value.problems[0].hint)


def test_extra_installs_one_version_of_both() -> None:
    text = (Path(__file__).resolve().parents[3] / "pyproject.toml").read_text("utf-8")
    extra = tomllib.loads(text)["project"]["optional-dependencies"]["spark"]
    assert sorted(name.partition("==")[0] for name in extra) == ["pyspark", "pyspark-client"]
    assert len({name.partition("==")[2] for name in extra}) == 1

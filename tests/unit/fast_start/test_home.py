"""The quicker start of Spark: which variables it sets, and that nothing about it can fail a run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from airflow_provider_runtime.cli.warmup import command as warmup
from airflow_provider_runtime.fast_start.home import (
    QuickHome,
    find_cache,
    find_quick_home,
    make_quick_environment,
)
from airflow_provider_runtime.fast_start.training import train, train_later

SUBMIT = """#!/bin/sh
draft=$(printf '%s' "$SPARK_SUBMIT_OPTS" | sed -n 's/.*ArchiveClassesAtExit=\\([^ ]*\\).*/\\1/p')
printf classes > "$draft"
echo "$SECRET"
exit {status}
"""

CLASSES = "-XX:MetaspaceSize=256m"
QUICK = f"-XX:+UseParallelGC -XX:CompileThresholdScaling=3 {CLASSES}"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A Spark, a Java and a cache of the test's own."""
    spark, java = tmp_path / "spark", tmp_path / "java"
    for folder in (spark / "bin", spark / "jars", spark / "python" / "lib", java / "bin", java / "lib"):
        folder.mkdir(parents=True)
    for file in (
        spark / "jars" / "spark-core_2.13-4.2.0.jar",
        spark / "jars" / "spark-mllib_2.13-4.2.0.jar",
        spark / "jars" / "spark-mllib-local_2.13-4.2.0.jar",
        spark / "jars" / "postgresql.jar",
        spark / "python" / "lib" / "pyspark.zip",
        java / "bin" / "java",
        java / "lib" / "modules",
    ):
        file.write_text(file.name)
    write_submit(spark, 0)
    return {
        "SPARK_HOME": str(spark),
        "JAVA_HOME": str(java),
        "AIRFLOW_RUNTIME_CACHE": str(tmp_path / "cache"),
        "PATH": os.environ["PATH"],
    }


def write_submit(spark: Path, status: int) -> None:
    submit = spark / "bin" / "spark-submit"
    submit.write_text(SUBMIT.format(status=status))
    submit.chmod(0o755)


def find(environ: dict[str, str]) -> QuickHome:
    home = find_quick_home(environ)
    assert home is not None
    return home


def test_the_quick_home_has_all_jars_but_the_one_that_no_run_needs(environ: dict[str, str]) -> None:
    home = find(environ)
    assert sorted(path.name for path in (home.folder / "jars").iterdir()) == [
        "postgresql.jar",
        "spark-core_2.13-4.2.0.jar",
        "spark-mllib-local_2.13-4.2.0.jar",
    ]
    assert (home.folder / "bin" / "spark-submit").exists()


def test_it_is_made_once_and_another_one_for_other_jars_or_another_java(environ: dict[str, str]) -> None:
    first = find(environ)
    assert find(environ) == first
    assert find({**environ, "SPARK_HOME": str(first.folder)}) == first
    Path(environ["SPARK_HOME"], "jars", "delta.jar").write_text("added")
    second = find(environ)
    Path(environ["JAVA_HOME"], "lib", "modules").write_text("another build")
    assert len({first.folder, second.folder, find(environ).folder}) == 3


def test_clusters_get_nothing(environ: dict[str, str]) -> None:
    for master in ("yarn", "k8s://https://cluster", "spark://host:7077"):
        assert make_quick_environment(master, [], environ, find(environ)) == {}


def test_a_local_spark_gets_links_and_collector_and_the_archive_when_there_is_one(environ: dict[str, str]) -> None:
    home = find(environ)
    environ["SPARK_SUBMIT_OPTS"] = "-Dmine=1"
    before = make_quick_environment("local[*]", [], environ, home)
    assert before == {"SPARK_HOME": str(home.folder), "SPARK_SUBMIT_OPTS": f"-Dmine=1 {QUICK}"}
    train(home, environ)
    after = make_quick_environment("local[*]", [], environ, home)
    assert f"-XX:SharedArchiveFile={home.archive}" in after["SPARK_SUBMIT_OPTS"]


def test_without_a_home_the_settings_of_java_are_still_chosen(environ: dict[str, str]) -> None:
    assert make_quick_environment("local", [], environ, None) == {"SPARK_SUBMIT_OPTS": QUICK}


def test_a_collector_of_the_users_own_stays(environ: dict[str, str], tmp_path: Path) -> None:
    chosen = "spark.driver.extraJavaOptions=-Xss4m -XX:+UseZGC"
    serial = {"_JAVA_OPTIONS": "-XX:+UseSerialGC"}
    (tmp_path / "spark-defaults.conf").write_text(chosen.replace("=", " ", 1))
    for settings, more in (([chosen], {}), ([], serial), ([], {"SPARK_CONF_DIR": str(tmp_path)})):
        quick = make_quick_environment("local", settings, {**environ, **more}, None)
        assert quick == {"SPARK_SUBMIT_OPTS": f"-XX:CompileThresholdScaling=3 {CLASSES}"}


@pytest.mark.parametrize("name", ["SPARK_SUBMIT_OPTS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"])
@pytest.mark.parametrize(
    "options", [f"-XX:+UseG1GC -XX:TieredStopAtLevel=1 {CLASSES}", "-XX:VMOptionsFile=o", "-XX:Flags=o", "@o"]
)
def test_options_of_java_that_the_user_has_set_elsewhere_stay(environ: dict[str, str], name: str, options: str) -> None:
    assert make_quick_environment("local", [], {**environ, name: options}, None) == {}


def test_settings_that_are_written_into_the_folder_of_spark_later_count(environ: dict[str, str]) -> None:
    home = find(environ)
    settings = Path(environ["SPARK_HOME"], "conf", "spark-defaults.conf")
    settings.parent.mkdir()
    settings.write_text("spark.driver.extraJavaOptions -XX:+UseZGC\n")
    assert (home.folder / "conf" / "spark-defaults.conf").read_text() == settings.read_text()
    assert QUICK.split()[0] not in make_quick_environment("local", [], environ, home)["SPARK_SUBMIT_OPTS"]


@pytest.mark.parametrize("chosen", ["-XX:CompileThresholdScaling=1", "-XX:TieredStopAtLevel=1"])
def test_what_the_user_says_of_the_compiler_stays(environ: dict[str, str], chosen: str) -> None:
    settings = [f"spark.driver.extraJavaOptions={chosen}"]
    assert make_quick_environment("local", settings, environ, None) == {
        "SPARK_SUBMIT_OPTS": f"-XX:+UseParallelGC {CLASSES}"
    }


def test_a_run_of_little_data_is_compiled_once_and_quickly(environ: dict[str, str]) -> None:
    quick = make_quick_environment("local", [], environ, None, is_small=True)
    assert quick == {"SPARK_SUBMIT_OPTS": f"-XX:+UseParallelGC -XX:TieredStopAtLevel=1 {CLASSES}"}
    chosen = ["spark.driver.extraJavaOptions=-XX:CompileThresholdScaling=1"]
    assert make_quick_environment("local", chosen, environ, None, is_small=True) == {
        "SPARK_SUBMIT_OPTS": f"-XX:+UseParallelGC {CLASSES}"
    }


def test_plugins_of_spark_get_all_jars(environ: dict[str, str]) -> None:
    setting = "spark.plugins=org.apache.spark.sql.connect.SparkConnectPlugin"
    assert "SPARK_HOME" not in make_quick_environment("local", [setting], environ, find(environ))


def test_an_archive_that_was_cut_short_is_not_used(environ: dict[str, str]) -> None:
    home = find(environ)
    train(home, environ)
    assert home.archive is not None
    home.archive.write_text("cla")
    assert home.archive is None
    assert "SharedArchive" not in make_quick_environment("local", [], environ, home)["SPARK_SUBMIT_OPTS"]


def test_an_archive_of_another_content_is_not_sound(environ: dict[str, str]) -> None:
    home = find(environ)
    assert not home.is_sound
    train(home, environ)
    assert home.is_sound
    assert home.archive is not None
    home.archive.write_text("classeX")
    assert home.archive is not None
    assert not home.is_sound


def test_warmup_makes_another_archive_in_place_of_a_damaged_one(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    home = find(environ)
    train(home, environ)
    assert home.archive is not None
    home.archive.write_text("classeX")
    for _ in range(2):
        said = CliRunner().invoke(warmup)
        assert said.exit_code == 0, said.output
        assert home.is_sound
    assert "running a small project" not in said.output


def test_a_training_that_fails_is_written_down_and_not_tried_again(environ: dict[str, str]) -> None:
    home = find(environ)
    write_submit(Path(environ["SPARK_HOME"]), 1)
    train(home, {**environ, "SECRET": "s3cret"})
    assert home.archive is None
    assert "s3cret" not in home.failure.read_text()
    assert not home.needs_training
    assert not train_later(home)


def test_two_trainings_at_once_make_one_archive(environ: dict[str, str]) -> None:
    home = find(environ)
    assert train_later(home)
    deadline = time.monotonic() + 20
    while home.archive is None and time.monotonic() < deadline:
        train(home, environ)
        time.sleep(0.05)
    assert home.archive is not None
    assert len(list(home.folder.glob("*.jsa"))) == 1
    assert not train_later(home)


def test_what_nobody_has_used_for_long_is_removed(environ: dict[str, str]) -> None:
    old = find(environ)
    Path(environ["SPARK_HOME"], "jars", "delta.jar").write_text("added")
    new = find(environ)
    train(new, environ)
    assert old.folder.is_dir()
    os.utime(old.folder, (0, 0))
    new.discard_archive()
    train(new, environ)
    assert not old.folder.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"AIRFLOW_RUNTIME_CACHE": "off"},
        {"AIRFLOW_RUNTIME_CACHE": "/proc/nowhere"},
        {"JAVA_HOME": "/nowhere"},
        {"SPARK_HOME": "/nowhere"},
        {"JAVA_HOME": "", "PATH": "/nowhere"},
    ],
)
def test_what_cannot_be_done_is_left_out(environ: dict[str, str], change: dict[str, str]) -> None:
    assert find_quick_home(environ | change) is None


def test_the_cache_is_in_the_virtual_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert find_cache({}) == tmp_path / ".cache" / "airflow-provider-runtime"
    monkeypatch.setattr("sys.base_prefix", str(tmp_path))
    assert find_cache({"XDG_CACHE_HOME": "/home/me/cache"}) == Path("/home/me/cache/airflow-provider-runtime")

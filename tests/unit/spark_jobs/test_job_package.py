import subprocess
import sys
import zipfile
from pathlib import Path

from airflow_provider_runtime.core.job_package import build_job_package


def test_job_package_built_twice_is_the_same_file(tmp_path: Path) -> None:
    first = build_job_package(tmp_path / "a")
    second = build_job_package(tmp_path / "b")
    assert first.archive.read_bytes() == second.archive.read_bytes()
    assert first.archive.parent.name == second.archive.parent.name


def test_job_package_that_exists_is_not_written_again(tmp_path: Path) -> None:
    first = build_job_package(tmp_path)
    before = first.archive.stat()
    second = build_job_package(tmp_path)
    after = second.archive.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_job_package_broken_by_a_crash_is_written_again(tmp_path: Path) -> None:
    built = build_job_package(tmp_path)
    whole = built.archive.read_bytes()
    built.archive.write_bytes(whole[:100])
    assert build_job_package(tmp_path).archive.read_bytes() == whole


def test_job_package_holds_modules_and_nothing_else(tmp_path: Path) -> None:
    built = build_job_package(tmp_path)
    with zipfile.ZipFile(built.archive) as archive:
        names = archive.namelist()
    assert "spark_jobs/__init__.py" in names
    assert "spark_jobs/sinks/path.py" in names
    assert all(name.endswith(".py") for name in names)
    assert sorted(names) == names


def test_job_package_alone_on_the_path_gives_the_package(tmp_path: Path) -> None:
    built = build_job_package(tmp_path)
    code = "import spark_jobs.spark.storage as s, sys; print(s.__file__)"
    found = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(built.archive)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(built.archive) in found.stdout

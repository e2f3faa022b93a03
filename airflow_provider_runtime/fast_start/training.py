"""Makes the archive of classes: runs a small close on Spark while Java keeps a list of what it loads.

    python -m airflow_provider_runtime.fast_start.training FOLDER

It works beside the folder's other users: the archive appears under its name when it is whole.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from airflow_provider_runtime.fast_start.home import (
    JAVA_OPTIONS,
    QUICK_COLLECTOR,
    QUIET_ARCHIVE,
    QuickHome,
    name_archive,
)

TIME_LIMIT = 600
UNUSED_DAYS = 30
_JOB = Path(__file__).with_name("training_job.py")
_KEPT_VARIABLES = ("HOME", "JAVA_HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "TMPDIR", "USER")


def train(home: QuickHome, environ: Mapping[str, str]) -> None:
    """Make the archive now, unless another process is about it; a failure is written down and not tried again."""
    with _take_lock(home) as taken:
        if not taken or home.archive is not None:
            return
        with tempfile.TemporaryDirectory(prefix=".training.", dir=home.folder) as folder:
            draft = Path(folder, "classes.jsa")
            said = _run_job(home, Path(folder), draft, environ)
            if not draft.is_file():
                home.failure.write_text(said[-4000:] or "Java wrote no archive\n", encoding="utf-8")
                return
            with draft.open("rb") as content:
                os.fsync(content.fileno())
            draft.replace(home.folder / name_archive(draft))
        home.failure.unlink(missing_ok=True)
        _remove_unused(home)


def train_later(home: QuickHome) -> bool:
    """Start a process of lowest priority that makes the archive, if it is missing; return whether it was started."""
    if not home.needs_training:
        return False
    command = [sys.executable, "-m", "airflow_provider_runtime.fast_start.training", str(home.folder)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=home.folder,
        )
    except OSError:
        return False
    # It outlives this process, and nobody waits for it.
    process.returncode = 0
    return True


def _run_job(home: QuickHome, folder: Path, draft: Path, environ: Mapping[str, str]) -> str:
    """Run the job and return what it said."""
    environment = {name: environ[name] for name in _KEPT_VARIABLES if name in environ}
    environment |= {
        "SPARK_HOME": str(home.folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "PYSPARK_PYTHON": sys.executable,
        JAVA_OPTIONS: f"{QUICK_COLLECTOR} -XX:ArchiveClassesAtExit={draft} {QUIET_ARCHIVE} -Djava.io.tmpdir={folder}",
    }
    settings = {"spark.ui.port": "0", "spark.log.level": "ERROR", "spark.sql.warehouse.dir": str(folder / "warehouse")}
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command = [str(home.folder / "bin" / "spark-submit"), "--master", "local[2]", "--driver-memory", "512m"]
    try:
        done = subprocess.run(
            [*command, *options, str(_JOB), str(folder)],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIME_LIMIT,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{error}\n"
    if done.returncode != 0:
        draft.unlink(missing_ok=True)
    return done.stdout + done.stderr


@contextmanager
def _take_lock(home: QuickHome) -> Iterator[bool]:
    with (home.folder / "training.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _remove_unused(home: QuickHome) -> None:
    """Remove the folders of other Javas and Sparks that have not been used for long."""
    for other in home.folder.parent.glob("spark-*"):
        if other != home.folder and time.time() - other.stat().st_mtime > UNUSED_DAYS * 86400:
            shutil.rmtree(other, ignore_errors=True)


def main() -> None:
    """Make the archive of the folder that is named, out of everyone's way."""
    os.nice(19)
    train(QuickHome(Path(sys.argv[1])), os.environ)


if __name__ == "__main__":
    main()

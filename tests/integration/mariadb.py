"""A real MariaDB for tests, from the machine's own binaries, in a folder and on a port of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

MARIADB_DRIVER = Path(os.environ.get("RUNTIME_MARIADB_DRIVER", "/usr/share/java/mariadb-java-client.jar"))
"""Where Debian's libmariadb-java puts the driver."""
PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb")
_FOLDERS = f"{os.environ.get('PATH', '')}:/usr/sbin"


@dataclass(frozen=True)
class MariaDbServer:
    """A server that runs; every test makes a database of its own."""

    port: int
    folder: Path

    def make_database(self, more: str = "") -> MariaDb:
        name = f"db_{uuid4().hex[:12]}"
        database = MariaDb(self, name)
        login = "GRANT ALL ON *.* TO 'writer'@'127.0.0.1' IDENTIFIED BY 'canary-4711'"
        database.execute(f"CREATE DATABASE {name} {more}; {login}", inside=False)
        return database


@dataclass(frozen=True)
class MariaDb:
    """A database of one test."""

    server: MariaDbServer
    name: str

    @property
    def jdbc_url(self) -> str:
        return f"jdbc:mariadb://127.0.0.1:{self.server.port}/{self.name}"

    def execute(self, sql: str, *, inside: bool = True) -> str:
        """Run statements, and return rows as lines with tabs between the values."""
        where = [self.name] if inside else []
        words = ["mariadb", "--no-defaults", f"--socket={self.server.folder}/socket", "-uroot", "-NBr"]
        words += ["--default-character-set=utf8mb4", *where, "-e", f"SET time_zone = '+00:00'; {sql}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def query(self, sql: str) -> list[tuple[str, ...]]:
        return [tuple(line.split("\t")) for line in self.execute(sql).splitlines()]


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDbServer]:
    """One server for all tests of a session."""
    missing = [program for program in PROGRAMS if shutil.which(program, path=_FOLDERS) is None]
    if missing or not MARIADB_DRIVER.is_file():
        pytest.skip("no MariaDB with its JDBC driver on this machine (packages mariadb-server and libmariadb-java)")
    folder = Path(tempfile.mkdtemp(prefix="runtime-mariadb-"))
    is_root = os.getuid() == 0
    if is_root:
        shutil.chown(folder, "mysql", "mysql")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = ["--no-defaults", f"--datadir={folder}/data", *(["--user=mysql"] if is_root else [])]
    make = ["mariadb-install-db", *common, "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    daemon = shutil.which("mariadbd", path=_FOLDERS)
    assert daemon is not None
    place = [f"--socket={folder}/socket", f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={folder}/pid"]
    command = [daemon, *common, *place, "--innodb-flush-log-at-trx-commit=0"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            if (folder / "socket").exists():
                break
            time.sleep(0.1)
        yield MariaDbServer(port, folder)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)

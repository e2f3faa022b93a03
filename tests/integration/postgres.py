"""A real PostgreSQL for tests, from the machine's own binaries, in a folder and on a port of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

JDBC_DRIVER = Path("/usr/share/java/postgresql.jar")
"""Where Debian's libpostgresql-jdbc-java puts the driver."""


@dataclass(frozen=True)
class PostgresServer:
    """A server that runs; every test makes a database of its own."""

    port: int
    folder: Path
    binaries: Path
    user: str = "postgres"

    def make_database(self) -> str:
        """Create an empty database and return its SQLAlchemy URL."""
        import psycopg

        name = f"db_{uuid4().hex[:12]}"
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user=self.user, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://{self.user}@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        """Start the server, the first time or after a stop."""
        settings = ("listen_addresses=127.0.0.1", f"port={self.port}", f"unix_socket_directories={self.folder}")
        options = " ".join(f"-c {setting}" for setting in (*settings, "fsync=off"))
        _run(
            self.binaries / "pg_ctl",
            "-D",
            self.folder / "data",
            "-l",
            self.folder / "log",
            "-w",
            "-o",
            options,
            "start",
        )

    def stop(self) -> None:
        """Stop the server at once, as a crash does."""
        _run(self.binaries / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")


def find_postgres() -> Path | None:
    """Find the folder of the newest server's programs."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if folders:
        return folders[-1]
    program = shutil.which("initdb")
    return Path(program).parent if program else None


@contextmanager
def start_postgres() -> Iterator[PostgresServer]:
    """Start a server and stop it at the end."""
    binaries = find_postgres()
    if binaries is None:
        pytest.skip("no PostgreSQL on this machine")
    # The server refuses to run as root, and its user must be able to enter the folder: so not below pytest's own.
    folder = Path(tempfile.mkdtemp(prefix="runtime-postgres-"))
    if os.getuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = PostgresServer(port, folder, binaries)
    try:
        _run(binaries / "initdb", "-D", folder / "data", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8")
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of a session."""
    with start_postgres() as server:
        yield server


def _run(program: Path, *arguments: object) -> None:
    command = [str(program), *map(str, arguments)]
    user = "postgres" if os.getuid() == 0 else None
    subprocess.run(command, check=True, user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def dump_database(url: str) -> str:
    """Return all that the tables of a database hold, as text."""
    import psycopg

    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert len(tables) > 5
        return "\n".join(
            str(row) for (table,) in tables for row in connection.execute(f'SELECT t::text FROM "{table}" t').fetchall()
        )

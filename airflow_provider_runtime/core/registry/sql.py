"""The registry in SQLite or PostgreSQL. Write transactions run one after the other, so that the rules need no locks."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import quote, quote_plus

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from airflow_provider_runtime.core.errors import DefinitionError, InfrastructureError, Problem
from airflow_provider_runtime.core.private_folders import make_private_folder
from airflow_provider_runtime.core.registry.addresses import ADDRESS_HINT, find_address_fault
from airflow_provider_runtime.core.registry.migration import is_current, upgrade
from airflow_provider_runtime.core.registry.sql_store import SqlStore
from airflow_provider_runtime.core.registry.store import Store
from airflow_provider_runtime.core.registry.transactional import TransactionalRegistry

T = TypeVar("T")
PATIENCE_SECONDS = 30.0
FIRST_PATIENCE_SECONDS = 5.0
ASYNC_DRIVERS = {"aiosqlite", "asyncpg", "psycopg_async"}
ADVISORY_LOCK = 0x61707275
"""Any fixed number: the lock that write transactions of all registries in a PostgreSQL database share."""
LONGEST_PAUSE_SECONDS = 10
"""How long a write transaction may do nothing: the lock of a process that is frozen comes free while others wait."""
FULL_STATE = "53300"
FULL_TEXTS = ("too many clients", "too many connections", "remaining connection slots are reserved")
PASSING_STATES = {"25P03", "40001", "40P01", "55P03", "57P01", "57P02", "57P03", FULL_STATE}
# Why a connection was not made has no state: a server that starts, stops or recovers says it in words alone.
PASSING_TEXTS = (
    "connection refused",
    "server closed the connection",
    "the database system is ",
    *FULL_TEXTS,
    "database is locked",
    "database table is locked",
)


def open_registry(url: str, *, patience_seconds: float = PATIENCE_SECONDS) -> SqlRegistry:
    """Open the registry at an SQLAlchemy URL, and bring its schema up to date."""
    registry = SqlRegistry(_read_url(url), patience_seconds)
    registry.migrate()
    return registry


class SqlRegistry(TransactionalRegistry):
    """A registry in a database."""

    def __init__(self, url: URL, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._url = url
        self._patience_seconds = patience_seconds
        if url.get_backend_name() == "sqlite":
            self._make_folder(Path(str(url.database)).parent)
        self._engine = _make_engine(url, patience_seconds)
        self._process = os.getpid()
        # Whoever does not close a registry does not leave its connection open either.
        weakref.finalize(self, _dispose, self._engine, self._process)

    def migrate(self) -> None:
        """Bring the schema up to date; cheap when it is."""
        # A database that does not answer at the very first question is most likely down or misspelled.
        if self._run(is_current, "BEGIN", min(self._patience_seconds, FIRST_PATIENCE_SECONDS)):
            return
        self._run(_prepare_file, None)
        self._run(upgrade, "BEGIN IMMEDIATE")

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _read(self, work: Callable[[Store], T]) -> T:
        return self._run(lambda connection: work(SqlStore(connection)), "BEGIN")

    def _write(self, work: Callable[[Store], T]) -> T:
        return self._run(lambda connection: work(SqlStore(connection)), "BEGIN IMMEDIATE")

    def _run(self, work: Callable[[Connection], T], begin: str | None, first_seconds: float | None = None) -> T:
        # Every work may run twice: a commit whose answer was lost may have happened, and the rules find what they did.
        begun = time.monotonic()
        pause_seconds = 0.02
        while True:
            try:
                return self._attempt(work, begin)
            except SQLAlchemyError as error:
                # A server that is full answers: it is not down or misspelled.
                limit_seconds = self._patience_seconds if first_seconds is None or _is_full(error) else first_seconds
                if not _is_passing(error) or time.monotonic() + pause_seconds > begun + limit_seconds:
                    self._refuse(error)
            time.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, 1.0)

    def _attempt(self, work: Callable[[Connection], T], begin: str | None) -> T:
        if self._process != os.getpid():
            # The connection of the process that this one was forked from stays with that one.
            self._engine.dispose(close=False)
            self._process = os.getpid()
        with self._engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                if begin is not None:
                    connection.exec_driver_sql(begin)
            elif begin == "BEGIN IMMEDIATE":
                # Whatever the database's default: who waited for the lock must see what its holder wrote.
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(self._patience_seconds * 1000)}")
                pause = f"SET LOCAL idle_in_transaction_session_timeout = '{LONGEST_PAUSE_SECONDS}s'"
                connection.exec_driver_sql(pause)
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")
            else:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            outcome = work(connection)
            connection.commit()
            return outcome

    def _make_folder(self, folder: Path) -> None:
        try:
            make_private_folder(folder)
        except OSError as error:
            message = f"the registry's folder {folder} cannot be made: {error.strerror}"
            hint = "let this user write there, or name a registry elsewhere: --registry sqlite:///FOLDER/registry.db"
            raise InfrastructureError(Problem("INFRA_001", message, hint)) from None

    def _refuse(self, error: SQLAlchemyError) -> NoReturn:
        origin = error.orig if isinstance(error, DBAPIError) else error
        # Secrets first: they are not recognised once blanks have changed.
        reason = " ".join(_remove_secrets(str(origin), self._url).split()) or type(origin).__name__
        raise InfrastructureError(
            Problem(
                "INFRA_001",
                f"the registry {describe_url(self._url)} cannot be used: {reason}",
                "check the address, that the database is up, and that it may be written",
            )
        ) from None


def describe_url(url: URL) -> str:
    """Return what may be shown of a registry's address: never a user, a password or an option."""
    place = f"{url.host or ''}{f':{url.port}' if url.port else ''}"
    return f"{url.get_backend_name()}://{place}/{url.database or ''}"


def _read_url(text: str) -> URL:
    if fault := find_address_fault(text):
        raise _make_url_problem(fault)
    try:
        url = make_url(text.replace("postgres://", "postgresql://", 1))
        backend = url.get_backend_name()
    except (ArgumentError, ValueError):
        raise _make_url_problem("the registry's URL is not an SQLAlchemy URL") from None
    if url.drivername.partition("+")[2] in ASYNC_DRIVERS:
        raise _make_url_problem(f"a registry cannot be used through the asynchronous driver of '{url.drivername}'")
    if backend not in {"sqlite", "postgresql"}:
        raise _make_url_problem(f"a registry cannot be kept in '{backend}'") from None
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


def _make_url_problem(message: str) -> DefinitionError:
    return DefinitionError(Problem("CATALOG_002", message, ADDRESS_HINT))


def _make_engine(url: URL, patience_seconds: float) -> Engine:
    sqlite = url.get_backend_name() == "sqlite"
    options: dict[str, Any]
    if sqlite:
        options = {"poolclass": NullPool, "connect_args": {"timeout": patience_seconds}}
    else:
        # One connection for a run: a server that is short of them must not be asked for another at its end.
        pool = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0, "pool_pre_ping": True}
        wait = {"connect_timeout": max(2, int(patience_seconds / 3))}
        # The heartbeat may hold it for as long as it waits for the lock of write transactions.
        options = {**pool, "pool_timeout": 2 * patience_seconds, "connect_args": wait}
    try:
        engine = create_engine(url, hide_parameters=True, **options)
    except (ImportError, NoSuchModuleError):
        message = f"the driver of {describe_url(url)} is not installed"
        hint = "pip install 'airflow-provider-runtime[postgres]'"
        raise DefinitionError(Problem("CATALOG_002", message, hint)) from None
    if sqlite:
        event.listen(engine, "connect", _configure_sqlite)
    return engine


def _dispose(engine: Engine, process: int) -> None:
    engine.dispose(close=process == os.getpid())


def _configure_sqlite(connection: object, _record: object) -> None:
    # The driver must not begin transactions of its own, or they would begin as readers and fail to become writers.
    connection.isolation_level = None  # type: ignore[attr-defined]
    connection.execute("PRAGMA foreign_keys = ON")  # type: ignore[attr-defined]


def _prepare_file(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")


def _is_passing(error: SQLAlchemyError) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    text = str(error.orig).lower()
    state = getattr(error.orig, "sqlstate", None)
    return error.connection_invalidated or state in PASSING_STATES or any(part in text for part in PASSING_TEXTS)


def _is_full(error: SQLAlchemyError) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    return state == FULL_STATE or any(part in str(error.orig).lower() for part in FULL_TEXTS)


def _remove_secrets(text: str, url: URL) -> str:
    secrets = [str(url.password)] if url.password else []
    secrets += [str(value) for name, value in url.query.items() if "pass" in name.lower()]
    for secret in secrets:
        for spelled in (secret, quote(secret, safe=""), quote(secret), quote_plus(secret)):
            text = text.replace(spelled, "***")
    return text

"""A SPARK_HOME of links, without what no run needs, and with the archive of classes once there is one.

It is in a folder whose name is a digest of Spark's jars and of Java, so that another Java or Spark gets another one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

CACHE_VARIABLE = "AIRFLOW_RUNTIME_CACHE"
"""Folder of what is kept between runs; `off`: nothing is."""
UNUSED_JARS = ("spark-mllib_",)
"""Costs a second of every start. Nothing of it is used, and a user's connector is never in it."""
QUICK_COLLECTOR = "-XX:+UseParallelGC"
QUICK_COMPILER = "-XX:CompileThresholdScaling=3"
"""Java's compiler takes much of a short run's processor time: it waits for what is called more often."""
SMALL_COMPILER = "-XX:TieredStopAtLevel=1"
"""For runs of little data: the compiler that optimises would take more time than its code saves."""
QUICK_CLASSES = "-XX:MetaspaceSize=256m"
"""Spark loads more classes than Java's first limit, at which it would stop and collect garbage several times."""
QUIET_ARCHIVE = "-Xlog:cds*=off"
"""An archive that does not fit is left aside; Java's own warning would go to standard output."""
VERIFIED_ARCHIVE = "-XX:+VerifySharedSpaces"
"""Java compares the archive with the sums in it, and leaves a damaged one aside."""
JAVA_OPTIONS = "SPARK_SUBMIT_OPTS"
_LAYOUT = 2
_ARCHIVE = "classes"
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")
_COMPILER = re.compile(r"CompileThreshold|TieredStopAtLevel")
_CLASSES = re.compile(r"-XX:MetaspaceSize=")
_UNSEEN_OPTIONS = re.compile(r"-XX:(?:VMOptionsFile|Flags)=|(?:^|[\s\"'=])@")
"""Java reads options from a file, among which a collector may be."""
_JAVA_VARIABLES = (JAVA_OPTIONS, "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")


@dataclass(frozen=True, slots=True)
class QuickHome:
    """The folder of links."""

    folder: Path

    @property
    def archive(self) -> Path | None:
        """The archive of classes; its name holds its size, because Java stops at one that was cut short."""
        found = self.folder.glob(f"{_ARCHIVE}-*.jsa")
        return next((path for path in found if path.stem.split("-")[1] == _describe_size(path)), None)

    @property
    def is_sound(self) -> bool:
        """Whether there is an archive that is what it was when it was made; reads all of it."""
        archive = self.archive
        return archive is not None and archive.name == name_archive(archive)

    @property
    def failure(self) -> Path:
        """A file that says why there is no archive, when making one failed."""
        return self.folder / "failed.txt"

    @property
    def needs_training(self) -> bool:
        """Whether an archive is missing and making one has not failed."""
        return self.archive is None and not self.failure.exists()

    def discard_archive(self) -> None:
        """Remove the archive, because Spark did not start with it."""
        if self.archive is not None:
            self.archive.unlink(missing_ok=True)


def name_archive(path: Path) -> str:
    """Return the name for an archive: its size, which every start looks at, and a sum of its content."""
    content = 0
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            content = zlib.crc32(part, content)
    return f"{_ARCHIVE}-{_describe_size(path)}-{content:08x}.jsa"


def make_quick_environment(
    master: str,
    settings: Iterable[str],
    environ: Mapping[str, str],
    home: QuickHome | None,
    *,
    is_small: bool = False,
) -> dict[str, str]:
    """Return the variables that make a local Spark start and run quicker; none for any other master.

    `settings` are the texts of what the user set, on the command line or as `key=value`. `is_small` says that Spark
    will read little for certain.
    """
    if not master.startswith("local"):
        return {}
    texts = (*settings, *(environ.get(name, "") for name in _JAVA_VARIABLES), _read_defaults(environ))
    is_unseen = any(map(_UNSEEN_OPTIONS.search, texts))
    choices = {
        QUICK_COLLECTOR: _COLLECTOR,
        SMALL_COMPILER if is_small else QUICK_COMPILER: _COMPILER,
        QUICK_CLASSES: _CLASSES,
    }
    options = [] if is_unseen else [quick for quick, own in choices.items() if not any(map(own.search, texts))]
    changed: dict[str, str] = {}
    # A plugin may be Spark Connect's server, which wants all jars.
    if home is not None and not any("spark.plugins" in text for text in texts):
        changed["SPARK_HOME"] = str(home.folder)
        archive = home.archive
        # Java reads a colon as the end of the path; blanks and quotes would have to survive two shells.
        if archive is not None and re.search(r"[\s:\"'\\$`]", str(archive)) is None:
            options += [f"-XX:SharedArchiveFile={archive}", VERIFIED_ARCHIVE, QUIET_ARCHIVE]
    if options:
        changed[JAVA_OPTIONS] = " ".join(filter(None, (environ.get(JAVA_OPTIONS), *options)))
    return changed


def find_quick_home(environ: Mapping[str, str], binary: str | None = None) -> QuickHome | None:
    """Return the folder of links for the Spark that would be started, made now if need be; None where it cannot be."""
    try:
        source = _find_spark_home(environ, binary)
        java = _find_java(environ)
        cache = find_cache(environ)
        if source is None or java is None or cache is None or os.name != "posix":
            return None
        folder = source if source.parent == cache.resolve() else cache / f"spark-{_make_key(source, java)}"
        if not folder.is_dir():
            _make_links(source, folder)
        os.utime(folder)
    except PermissionError:
        # Made by someone else; it serves us all the same.
        return QuickHome(folder) if folder.is_dir() else None
    except (OSError, RuntimeError):
        return None
    return QuickHome(folder)


def find_cache(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of what is kept: the one asked for, else in the virtual environment, else the user's cache."""
    wanted = environ.get(CACHE_VARIABLE)
    if wanted:
        return None if wanted.lower() == "off" else Path(wanted).absolute()
    name = "airflow-provider-runtime"
    own = Path(sys.prefix, ".cache", name)
    if own.is_dir() or (sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK)):
        return own
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", name)


def _describe_size(path: Path) -> str:
    return str(path.stat().st_size)


def _find_spark_home(environ: Mapping[str, str], binary: str | None) -> Path | None:
    """Return the SPARK_HOME that spark-submit would find."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"]).resolve(strict=True)
    if binary is not None:
        found = shutil.which(binary, path=environ.get("PATH"))
        if found is None:
            return None
        home = Path(found).resolve().parents[1]
        if (home / "jars").is_dir():
            return home
        if Path(found).parent != Path(sys.executable).parent:
            return None
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    package = Path(spec.origin).parent
    return package if (package / "jars").is_dir() else None


def _find_java(environ: Mapping[str, str]) -> Path | None:
    """Return the file that holds Java's own classes: another build of Java has another one."""
    home = environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH"))
    if java is None:
        return None
    modules = Path(java).resolve(strict=True).parents[1] / "lib" / "modules"
    return modules if modules.is_file() else None


def _make_key(source: Path, java: Path) -> str:
    jars = ((path.name, *_identify(path)) for path in sorted((source / "jars").iterdir()))
    identity = [_LAYOUT, UNUSED_JARS, str(source), str(java), *_identify(java), *jars]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]


def _identify(path: Path) -> tuple[int, int]:
    """Return what Java compares as well: the size and the time of the last change."""
    about = path.stat()
    return about.st_size, about.st_mtime_ns


def _make_links(source: Path, folder: Path) -> None:
    """Make the folder aside and rename it: processes that start together may all do so."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        for link, target in _list_links(source):
            (aside / link).parent.mkdir(parents=True, exist_ok=True)
            (aside / link).symlink_to(target)
        aside.chmod(0o755)
        aside.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _list_links(source: Path) -> Iterator[tuple[Path, Path]]:
    for path in source.iterdir():
        if path.name not in {"jars", "python", "conf"}:
            yield Path(path.name), path
    # Also where there is none yet: settings may be written later.
    yield Path("conf"), source / "conf"
    for path in (source / "jars").iterdir():
        if not path.name.startswith(UNUSED_JARS):
            yield Path("jars", path.name), path
    yield from _list_python_links(source)


def _list_python_links(source: Path) -> Iterator[tuple[Path, Path]]:
    """Spark's Python side as folders: imported from its zip, every start would compile it anew."""
    package = source if (source / "__init__.py").is_file() else source / "python" / "pyspark"
    for path in (source / "python" / "lib").iterdir():
        if path.name == "pyspark.zip" and (package / "__init__.py").is_file():
            yield Path("python", "lib", path.name, "pyspark"), package
        else:
            yield Path("python", "lib", path.name), path


def _read_defaults(environ: Mapping[str, str]) -> str:
    """Return the text of spark-defaults.conf, which may choose a collector as well."""
    try:
        source = _find_spark_home(environ, None)
        folder = environ.get("SPARK_CONF_DIR") or (source / "conf" if source is not None else "")
        return Path(folder, "spark-defaults.conf").read_text(encoding="utf-8") if folder else ""
    except (OSError, RuntimeError, UnicodeDecodeError):
        return ""

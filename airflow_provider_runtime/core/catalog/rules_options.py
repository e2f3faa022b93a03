"""Options of Spark's readers and writers: none given twice, none that moves files, runs code, or reads loosely.

The Spark job refuses what moves files or runs code in every snapshot, by the same patterns; a contract test holds the
two together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

CODE_IN_OPTION = re.compile(
    r"^(?:prepare)?query$|init(?:statement|sql)|dbtable|createtable|factory|class|interceptor|deserializ|callback"
    r"|verifier|plugin|provider$|failover\.proxy\.provider|logger|(?<!de)script|jaas|^init$|^hint$|[._]impl$|codecs$|signer"
    r"|^parquet\.read\.filter$|jndi|inifile|initfile|infile|trace(?:file|dir)|propertiestransform|eventhandler"
    r"|balancestrategy|exceptionchecker|browser|load_?extension",
    re.IGNORECASE,
)
CLASS_NAME = re.compile(r"(?:^|[,;:\s])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.[A-Z][\w$]*(?:$|[,;:\s])", re.ASCII)
# Names of people and databases and patterns of dates may look like names of classes.
NO_CLASS_IN = re.compile(
    r"driver|url|user(?:name)?|\w*schema|\w*database(?:name)?|\w*format|\w*value|pathglobfilter",
    re.IGNORECASE | re.ASCII,
)
COMPRESSION = re.compile(r"(?:.*\.)?(?:compression|compress|codec)", re.IGNORECASE)
PLAIN_WORD = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
# How a bucket or container is logged in to is chosen by names of classes of Hadoop's own.
LOGIN_OF_STORE = re.compile(
    r"fs\.s3a\.(?:bucket\.[^.]+\.)?aws\.credentials\.provider=.*"
    r"|fs\.azure\.account\.oauth\.provider\.type(?:\.[\w.-]+)?=org\.apache\.hadoop\.fs\.azurebfs\.[\w.]+",
    re.ASCII | re.DOTALL,
)
OPTIONS_OF_URL = re.compile(r"[?&;(,:/#]\s*([^=?&;(),:/#]+)=")
# Hadoop cuts blanks off names.
PLACE_OF_FILES = re.compile(
    r"[\x00-\x20]*(?:paths?|mapreduce\.output\.(?:basename|fileoutputformat\.outputdir)|mapred\.output\.dir)[\x00-\x20]*",
    re.IGNORECASE,
)
# What the job reads files with whatever is asked for, by the format; `files` are those of all formats.
STRICT: Mapping[str, Mapping[str, str]] = {
    "files": {"ignorecorruptfiles": "false", "ignoremissingfiles": "false"},
    "csv": {"mode": "FAILFAST", "enforceschema": "false", "columnpruning": "false"},
    "json": {"mode": "FAILFAST"},
    "xml": {"mode": "FAILFAST"},
}
SKIPS_VALUES = ("unescapedquotehandling", "SKIP_VALUE")


def find_option_faults(options: Mapping[str, str], kind: str = "") -> Iterator[tuple[str, str, str]]:
    """Return name, message and hint for each option that no reader or writer of this kind may have."""
    seen: dict[str, str] = {}
    for name, value in options.items():
        twin = seen.setdefault(name.lower(), name)
        if twin != name:
            yield name, f"options '{twin}' and '{name}' differ only in case", "Spark takes them for one: keep one"
        elif runs_code(name, value):
            message = f"option '{name}' is refused: it may hold a statement or name a class to be run"
            yield name, message, "remove it: Spark's own options, and those of drivers that are plain values, are taken"
        elif moves_files(name):
            message = f"option '{name}' is refused: it would move files"
            yield name, message, "remove it: a datasource's `path_prefix` and a location's `path` say where files are"
        elif reads_loosely(name, value, kind):
            message = f"option '{name}' with this value would leave out or mix up what Spark cannot read"
            yield name, message, "remove it: every file, line and value is read, or the run stops"


def reads_loosely(name: str, value: str, kind: str) -> bool:
    """Tell whether a reader of this kind would go on without what it cannot read."""
    if kind == "jdbc":
        return False
    if kind == "csv" and (name.lower(), value.upper()) == SKIPS_VALUES:
        return True
    strict = {**STRICT["files"], **STRICT.get(kind, {})}.get(name.lower())
    return strict is not None and value.upper() != strict.upper()


def moves_files(name: str) -> bool:
    """Tell whether an option says where files are or what they are called: only paths and prefixes say that."""
    return PLACE_OF_FILES.fullmatch(name) is not None


def runs_code(name: str, value: str) -> bool:
    """Tell whether an option may hold a statement, or the name of a class to be loaded."""
    name = name.strip()
    if LOGIN_OF_STORE.fullmatch(f"{name}={value}"):
        return False
    if COMPRESSION.fullmatch(name):
        return not PLAIN_WORD.fullmatch(value)
    if name.lower() == "url" and any(
        CODE_IN_OPTION.search(key.strip("{} \t\r\n"))
        # Drivers decode `%65` in names before they compare them.
        for key in (*OPTIONS_OF_URL.findall(value), *OPTIONS_OF_URL.findall(unquote(value)))
    ):
        return True
    return bool(CODE_IN_OPTION.search(name) or (CLASS_NAME.search(value) and not NO_CLASS_IN.fullmatch(name)))

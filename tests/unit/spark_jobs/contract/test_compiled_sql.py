"""A snapshot from elsewhere cannot make the job call anything but what expressions compile to."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from spark_jobs.contract.compiled_sql import DATABASES, check_plan, find_foreign_part
from spark_jobs.contract.operations import Join, Read, UpdateOperation
from spark_jobs.contract.plan import Plan
from spark_jobs.contract.tables import Location

EXPRESSIONS = Path(__file__).parents[2] / "core" / "expr" / "golden" / "expressions.txt"
COMPILED = [line.strip() for line in EXPRESSIONS.read_text("utf-8").splitlines() if line.startswith("    ")]


@pytest.mark.parametrize("sql", COMPILED)
def test_what_the_compiler_writes_is_accepted(sql: str) -> None:
    assert find_foreign_part(sql) is None


@pytest.mark.parametrize(
    "sql",
    [
        "reflect('java.lang.System', 'exit', 3)",
        "java_method('java.lang.Runtime', 'getRuntime')",
        "1L + REFLECT ('a', 'b')",
        "`reflect`('java.lang.System', 'exit')",
        "`reflect` /*@x*/ ('java.lang.System', 'exit')",
        "builtin.reflect('a')",
        "(SELECT 1)",
        "EXISTS (SELECT * FROM csv.`/etc/passwd`)",
        "a IN (TABLE secrets)",
        "/* /* */ reflect('a') */ 1",
        "/*+ BROADCAST(t) */ 1",
        "1 -- comment",
        "r'\\' || reflect('a', 'b') || '",
        'concat("a", reflect("b"))',
        "'a'; DROP TABLE x",
        "${env:HOME}",
        "input_file_name()",
        "'not closed",
        "rand()",
        "1 = 1\u00a0reflect('a')",
        "reflect/**/('java.lang.System', 'exit')",
        "substr/**/(reflect/**/('java.lang.System', 'getenv', 'X'), 1)",
        "1 /* reflect('a') */ + 1",
        "a /*/ 1",
        "1 --reflect('a')",
        "concat('a', --> '\n reflect('java.lang.System', 'exit') --'\n)",
        "length(/*@/*/ ' */ */ reflect('a') -- '\n)",
        "1 -/*@x*/-> 1 --",
        "(" * 2001 + "1" + ")" * 2001,
    ],
)
def test_what_it_never_writes_is_refused(sql: str) -> None:
    assert find_foreign_part(sql) is not None


@pytest.mark.parametrize(
    "sql", ["`@w`.`reflect('a')`", "'reflect(1)'", "'it\\'s -- reflect(1)'", "`a``b` <> '\\\\'", "0L - (-1L) - -(1L)"]
)
def test_names_and_texts_may_hold_anything(sql: str) -> None:
    assert find_foreign_part(sql) is None


def make_place(**changed: object) -> Plan:
    location = Location(**{"kind": "jdbc", "format": "jdbc", "table": "finance.gl", **changed})  # type: ignore[arg-type]
    plan = SimpleNamespace(
        tables={"t": SimpleNamespace(locations=(location,), columns=())}, operations=(), input_columns=(), checks=()
    )
    return cast("Plan", plan)


POSTGRES = "jdbc:postgresql://db:5432/books"
CLASSES: list[dict[str, str]] = [
    {"compression": "org.apache.hive.beeline.BeeLine"},
    {"Codec": "x.y"},
    {"parquet.compression": "x.Y"},
    {"io.compression.codecs": "x.y"},
    {"parquet.read.filter": "x"},
    {"parquet.read.support.class": "x"},
    {"fs.s3a.custom.signers": "Name:x.Y"},
    {"dfs.client.failover.proxy.provider.books": "x"},
    {"hadoop.security.group.mapping": "x.Y"},
    {"anything": "a.b.C$D, e.f"},
    {"fs.azure.account.oauth.provider.type": "x.Y"},
]


@pytest.mark.parametrize(
    "changed",
    [
        {"options": {"url": POSTGRES, "sessionInitStatement": "CALL x()"}},
        {"options": {"url": POSTGRES, "query": "SELECT 1"}},
        {"options": {"path": "/elsewhere"}},
        {"options": {"mapreduce.output.basename": "/elsewhere/part"}},
        {"options": {"url": POSTGRES, "prepareQuery": "SELECT 1"}},
        {"options": {"url": POSTGRES + "?socketFactory=org.Evil&socketFactoryArg=x"}},
        {"options": {"url": POSTGRES + "?ssl=true&loggerFile=/tmp/x"}},
        {"options": {"url": "jdbc:mysql://db/books?autoDeserialize=true"}},
        {"options": {"url": "jdbc:derby:memory:x;create=true"}},
        {"options": {"url": "JDBC:H2:mem:x;INIT=RUNSCRIPT FROM 'x'"}},
        {"options": {"url": "jdbc:mysql://db/books?autoDes%65rialize=true&queryInt%65rceptors=a.b.C"}},
        {"options": {"url": "jdbc:mysql://db/books?allowLoadLocalInfile=true"}},
        {"options": {"url": "jdbc:mysql://db/books?allowUrlInLocalInfile=true"}},
        {"options": {"url": "jdbc:mysql://db/books?propertiesTransform=a.b.C"}},
        {"options": {"url": "jdbc:db2://h:1/db:clientRerouteServerListJNDIName=x;"}},
        {"options": {"url": "jdbc:db2://h:1/db", "clientRerouteServerListJNDIName": "x"}},
        {"options": {"url": "jdbc:db2://h:1/db:user=a;traceFile=/tmp/x;"}},
        {"options": {"url": "jdbc:oracle:thin:@ldap://evil/x"}},
        {"options": {"url": "jdbc:teradata://h/LOGMECH=BROWSER,BROWSER=touch x"}},
        {"options": {"url": "jdbc:teradata://h/BROWSER=touch x"}},
        {"options": {"url": "jdbc:sqlserver://h;{socketFactoryClass}=x"}},
        {"options": {"url": "jdbc:redshift://h/d?IniFile=/tmp/x"}},
        {"options": {"url": POSTGRES + "#&socketF%61ctory=x"}},
        {"options": {"url": "jdbc:jcr:jndi:ldap://evil/x"}},
        {"options": {"url": "jdbc:avatica:remote:url=http://h;httpclient_impl=a.b.C"}},
        {"options": {"url": "jdbc:hive2://h:1/db;initFile=/etc/passwd"}},
        {"options": {"url": "jdbc:hive2://"}},
        {"options": {"url": "jdbc:log4jdbc:h2:mem:x"}},
        {"options": {"url": "jdbc:p6spy:postgresql://h/d"}},
        {"options": {"url": "jdbc:otel:h2:mem:x"}},
        {"options": {"url": "jdbc:sqlite::memory:?enable_load_extension=true"}},
        {"options": {"url": "jdbc:duckdb:"}},
        {"options": {"url": "\x00jdbc:h2:mem:x"}},
        {"options": {"url": "\u00a0jdbc:h2:mem:x"}},
        {"options": {"url": "jdbc:postgresql"}},
        {"options": {"url": "x"}},
        {"options": {"url": POSTGRES}, "table": "(SELECT pg_sleep(1)) AS q"},
        {"options": {"url": POSTGRES}, "table": "a; DROP TABLE b"},
        {"options": {"URL": "jdbc:derby:x;create=true"}},
        {"options": {"url": POSTGRES, " Url": POSTGRES + "?socketFactory=org.Evil"}},
        {"options": {"url": "jdbc:mysql://address=(host=h)(port=1)(queryInterceptors=a.b.C)/db"}},
        {"options": {"url": POSTGRES, "schema": "(SELECT pg_read_file('/etc/passwd')) q, pg_catalog"}},
        {"options": {"url": POSTGRES, "hint": "/*+ x */ (SELECT 1), /* */"}},
        {"options": {"url": POSTGRES}, "table": "t UNION ALL SELECT usename FROM pg_shadow"},
        {"kind": "files", "format": "jdbc", "uri": "/x", "table": None, "options": {"url": POSTGRES}},
        {"kind": "files", "format": "kafka", "uri": "/x", "table": None},
        {"kind": "files", "format": "avro", "uri": "/x", "table": None, "options": {"kafka.sasl.jaas.config": "x"}},
        {"kind": "files", "format": "org.evil.Source", "uri": "/x", "table": None},
        {
            "kind": "files",
            "format": "csv",
            "uri": "/x",
            "table": None,
            "options": {"fs.file.impl": "java.lang.Runtime"},
        },
        {"kind": "files", "format": "CSV", "uri": "/x", "table": None},
        {"kind": "files", "format": "j\u017fon", "uri": "/x", "table": None},
        {"options": {"url": POSTGRES, "URL": POSTGRES}},
        {"options": {"url": "jdbc:mysql://db/books?query%49nterceptors=a.b.C"}},
        *({"kind": "files", "format": "csv", "uri": "/x", "table": None, "options": options} for options in CLASSES),
    ],
)
def test_places_that_could_run_code_are_refused(changed: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"refused|not a name|unknown format|differ only in case"):
        check_plan(make_place(**changed))


@pytest.mark.parametrize("alias", ["fx`, reflect('a') AS `y", "(a|a)*$", "", "a b", "ä"])
def test_aliases_are_names(alias: str) -> None:
    join = Join(alias, "t", (), "TRUE", "10")
    update = UpdateOperation(seq=10, name="u", mark="10", joins=(join,), assignments=())
    with pytest.raises(ValueError, match="alias that is not a name"):
        check_plan(Plan({}, "input", (), (update,), {}, "p"))


def test_joins_that_wait_for_each_other_are_refused() -> None:
    joins = tuple(Join(name, "t", (), "TRUE", "10", reads=(Read("x", other),)) for name, other in ("ab", "ba"))
    update = UpdateOperation(seq=10, name="u", mark="10", joins=joins, assignments=())
    with pytest.raises(ValueError, match="joins wait for each other"):
        check_plan(Plan({}, "input", (), (update,), {}, "p"))


@pytest.mark.parametrize(
    "options",
    [
        {"url": POSTGRES + "?sslmode=require&ApplicationName=books&preferQueryMode=simple"},
        {
            "url": POSTGRES,
            "fetchsize": "1000",
            "queryTimeout": "60",
            "numPartitions": "4",
            "driver": "org.postgresql.Driver",
        },
        {"url": "jdbc:mysql://db/books?rewriteBatchedStatements=true"},
        {"url": "jdbc:mariadb://db:3306/books?useCompression=true"},
        {"url": "jdbc:sqlserver://db:1433;databaseName=books;encrypt=true;applicationName=a%20b"},
        {"url": "jdbc:oracle:thin:@//db:1521/books"},
        {"url": "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=h))(CONNECT_DATA=(SERVICE_NAME=b)))"},
        {"url": "jdbc:db2://db:50000/books:currentSchema=finance;"},
        {"url": "jdbc:redshift://db:5439/books"},
        {"url": "jdbc:snowflake://account.snowflakecomputing.com/?warehouse=w&db=books"},
        {"url": "jdbc:sap://db:30015/?databaseName=books"},
        {"url": "jdbc:teradata://db/DATABASE=books,CHARSET=UTF8"},
        {"url": POSTGRES, "partitionColumn": "id", "user": "Ann.Bell"},
    ],
)
def test_usual_options_of_databases_are_accepted(options: dict[str, str]) -> None:
    check_plan(make_place(options=options))


@pytest.mark.parametrize(
    "options",
    [
        {"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"},
        {"fs.azure.account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"},
        {"compression": "zstd", "dateFormat": "dd.MM", "delimiter": ".", "fs.s3a.endpoint": "s3.example.com"},
        {"sep": ";", "multiLine": "true", "nullValue": "n.A"},
    ],
)
def test_usual_options_of_files_are_accepted(options: dict[str, str]) -> None:
    check_plan(make_place(kind="files", format="csv", table=None, options=options))


def test_databases_are_those_that_the_page_names() -> None:
    page = (Path(__file__).parents[4] / "docs" / "sources.md").read_text(encoding="utf-8")
    named = page.partition("every database is refused except")[2].partition(", by the word after")[0]
    assert tuple(re.findall(r"`(\w+)`", named)) == DATABASES

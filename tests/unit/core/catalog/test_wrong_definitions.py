"""One wrong definition a case: what is said, and where."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from airflow_provider_runtime.core.errors import Problem
from tests.unit.core.catalog.builders import GL, LAKE, PROJECT, RESOLVER, load


@dataclass(frozen=True)
class Wrong:
    """A text with one mistake."""

    name: str
    text: str
    code: str
    line: int
    at: str
    """What the line goes on with at the column that is named."""
    message: str
    hint: str | None = None


def change(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def gl(old: str, new: str) -> str:
    return change(GL, old, new)


def project(old: str, new: str) -> str:
    return change(PROJECT, old, new)


def operation(body: str) -> str:
    return PROJECT[: PROJECT.index("    - {seq")] + f"    - {body}\n"


def resolver(old: str, new: str) -> str:
    return change(RESOLVER, old, new)


def calendar(periods: str, levels: str = "{name: year}, {name: month, parent_level: year}") -> str:
    return f"calendar:\n  id: c\n  levels: [{levels}]\n  periods:\n{periods}"


def lookup(target: str, conditions: str = "[{source_column: journal_id, target_column: code}]") -> str:
    return f"{GL}  lookups:\n    - {{alias: a, target: {target}, join_conditions: {conditions}}}\n"


def airflow(body: str) -> str:
    return PROJECT + f"  airflow: {body}\n"


TABLE = "{type: table, name: accounts, columns: [{name: code, type: string}]}"
YEAR = "    - {identifier: Y26, level: year, start_date: 2026-01-01, end_date: 2026-12-31}\n"
DESTINATION = "{seq: 10, name: out, type: output, arguments: {destination: %s}}"

YAML_CASES = [
    Wrong("unclosed list", "dataset: [1, 2\n", "CATALOG_001", 1, "[1, 2", "not valid YAML"),
    Wrong("tab indentation", "dataset:\n\tid: gl\n", "CATALOG_001", 2, "\tid: gl", "not valid YAML", "spaces"),
    Wrong("unquoted at sign", "dataset:\n  id: @gl\n", "CATALOG_001", 2, "@gl", "not valid YAML", "into quotes"),
    Wrong(
        "python tag", "dataset: !!python/object/apply:os.system [ls]\n", "CATALOG_001", 1, "!!python/o", "tag", "remove"
    ),
    Wrong(
        "unquoted braces", "dataset:\n  id: {{GL}}\n", "CATALOG_001", 2, "{GL}}", "a key must be a text", "into quotes"
    ),
    Wrong("own tag", "dataset:\n  id: !x gl\n", "CATALOG_001", 2, "!x gl", "tags are not allowed"),
    Wrong("unknown alias", "dataset:\n  id: *gl\n", "CATALOG_001", 2, "*gl", "this alias has no anchor", "anchor"),
    Wrong("alias of itself", "dataset: &a\n  id: *a\n", "CATALOG_001", 2, "*a", "stands inside"),
    Wrong(
        "duplicate key",
        gl("  version: 1\n", "  version: 1\n  version: 2\n"),
        "CATALOG_001",
        5,
        "version",
        "given twice",
        "4",
    ),
    Wrong("NUL byte", "dataset:\n  id: 'a\0b'\n", "CATALOG_001", 2, "\u0000b'", "U+0000"),
    Wrong("list as key", "dataset:\n  ? [a]\n  : 1\n", "CATALOG_001", 2, "[a]", "a key must be a text"),
    Wrong("merge of text", "dataset:\n  <<: 1\n", "CATALOG_001", 2, "1", "merge key"),
]
DOCUMENT_CASES = [
    Wrong("list at the top", "- a\n", "CATALOG_002", 1, "- a", "one key that says the kind", "calendar"),
    Wrong("text at the top", "hello\n", "CATALOG_002", 1, "hello", "one key that says the kind"),
    Wrong("unknown kind", "datasett: {}\n", "CATALOG_002", 1, "datasett", "unknown kind 'datasett'", "'dataset'"),
    Wrong("scenario among definitions", "scenario: {}\n", "CATALOG_002", 1, "scenario", "unknown kind", "outside"),
    Wrong(
        "whole scenario", "run: {}\nscenario: x\nexpect: {}\n", "CATALOG_002", 2, "scenario", "unknown kind", "outside"
    ),
    Wrong("two kinds in one document", f"{LAKE}{RESOLVER}", "CATALOG_002", 2, "resolver", "found 2", "'---'"),
    Wrong("empty body", "dataset:\n", "CATALOG_002", 1, "dataset", "expected a mapping of keys, found nothing"),
    Wrong("list as body", "dataset: [1]\n", "CATALOG_002", 1, "dataset", "expected a mapping of keys, found a list"),
]
MODEL_CASES = [
    Wrong(
        "unknown key", gl("  version", "  vershun: 1\n  version"), "CATALOG_002", 4, "vershun", "'vershun'", "'version'"
    ),
    Wrong(
        "misspelt key", gl("  version", "  verzion"), "CATALOG_002", 4, "verzion", "unknown key 'verzion'", "'version'"
    ),
    Wrong("missing key", gl("  version: 1\n", ""), "CATALOG_002", 1, "dataset", "required key 'version' is missing"),
    Wrong("quoted version", gl("version: 1", 'version: "1"'), "CATALOG_002", 4, '"1"', "whole number", "quotes"),
    Wrong("version zero", gl("version: 1", "version: 0"), "CATALOG_002", 4, "0", "at least 1"),
    Wrong("version with a point", gl("version: 1", "version: 1.0"), "CATALOG_002", 4, "1.0", "the number 1.0"),
    Wrong("boolean version", gl("version: 1", "version: true"), "CATALOG_002", 4, "true", "the boolean true"),
    Wrong(
        "huge version",
        gl("version: 1", "version: " + "9" * 500),
        "CATALOG_002",
        4,
        "999999999999999999999999999999",
        "whole number",
    ),
    Wrong(
        "wrong status", gl("version: 1", "version: 1\n  status: activ"), "CATALOG_002", 5, "activ", "one of", "'active'"
    ),
    Wrong("id with a slash", gl("id: gl", "id: a/b"), "CATALOG_002", 2, "a/b", "not a valid identifier", "letters"),
    Wrong("id with two dots", gl("id: gl", "id: a..b"), "CATALOG_002", 2, "a..b", "not a valid identifier", "'..'"),
    Wrong("empty name", gl("GL Transactions", "''"), "CATALOG_002", 3, "''", "name: must not be empty"),
    Wrong("name is a list", gl("GL Transactions", "[a]"), "CATALOG_002", 3, "[a]", "expected text, found a list"),
    Wrong("name is nothing", gl("name: GL Transactions", "name:"), "CATALOG_002", 3, "name", "found nothing"),
    Wrong(
        "column name with a space",
        gl("journal_id", "journal id"),
        "CATALOG_002",
        9,
        "journal id",
        "valid name",
        "letters",
    ),
    Wrong("unknown type", gl("type: string", "type: strin"), "CATALOG_002", 9, "strin", "one of", "'string'"),
    Wrong("yes is no boolean", gl("nullable: false", "nullable: no"), "CATALOG_002", 9, "no", "the text 'no'", "false"),
    Wrong("precision 39", gl("precision: 18", "precision: 39"), "CATALOG_002", 10, "39", "at most 38"),
    Wrong("scale above precision", gl("scale: 2", "scale: 19"), "CATALOG_002", 10, "19", "scale 19 is greater"),
    Wrong(
        "scale of a string", gl("type: string", "type: string, scale: 2"), "CATALOG_002", 9, "2", "type decimal only"
    ),
    Wrong("no columns", GL[: GL.index("    columns")] + "    columns: []\n", "CATALOG_002", 8, "[]", "at least one"),
    Wrong("temporal mode", gl("_mode: period", "_mode: periodic"), "CATALOG_002", 7, "periodic", "one of", "'period'"),
    Wrong("reserved column", gl("journal_id", "_row_id"), "CATALOG_002", 9, "_row_id", "reserved"),
    Wrong("reserved but for case", gl("journal_id", "_Row_ID"), "CATALOG_002", 9, "_Row_ID", "reserved", "'_row_id'"),
    Wrong(
        "repeated column of one letter",
        gl("name: journal_id", "name: a").replace("name: amount", "name: a"),
        "CATALOG_002",
        10,
        "a,",
        "given twice",
    ),
    Wrong("repeated column", gl("name: amount", "name: journal_id"), "CATALOG_002", 10, "journal_id", "given twice"),
    Wrong("case-equal column", gl("name: amount", "name: Journal_ID"), "CATALOG_002", 10, "Journal_ID", "only in case"),
    Wrong(
        "no type of lookup", lookup("{name: x}"), "CATALOG_002", 12, "{name: x},", "'type' is missing", "table, dataset"
    ),
    Wrong("type of lookup", lookup("{type: tabel}"), "CATALOG_002", 12, "tabel", "one of", "'table'"),
    Wrong("lookup conditions", lookup(TABLE, "[]"), "CATALOG_002", 12, "[]}", "at least one"),
]
DATASET_CASES = [
    Wrong("unknown resolver", gl("version: 1", "version: 1\n  resolver_id: rr"), "CATALOG_004", 5, "rr", "'rr'", "'r'"),
    Wrong(
        "unknown key column",
        gl("  main", "  natural_key_columns: [amont]\n  main"),
        "CATALOG_002",
        5,
        "amont",
        "",
        "amount",
    ),
    Wrong("lookup to nothing", lookup("{type: dataset, id: glx}"), "DATASET_001", 12, "glx", "'glx' not found", "'gl'"),
    Wrong("lookup version", lookup("{type: dataset, id: gl, version: 7}"), "DATASET_003", 12, "7", "version 7", "1"),
    Wrong(
        "lookup to itself",
        lookup("{type: dataset, id: gl}", "[{source_column: amount, target_column: amount}]"),
        "CATALOG_002",
        12,
        "gl",
        "cycle",
    ),
    Wrong(
        "lookup source column", lookup(TABLE, "[{source_column: x, target_column: code}]"), "EXPR_002", 12, "x", "'x'"
    ),
    Wrong(
        "lookup target column", lookup(TABLE, "[{source_column: amount, target_column: x}]"), "EXPR_002", 12, "x", ""
    ),
    Wrong(
        "lookup types",
        lookup(TABLE, "[{source_column: amount, target_column: code}]"),
        "EXPR_004",
        12,
        "[{source_c",
        "compared",
    ),
    Wrong(
        "alias of the table but for case",
        lookup(TABLE).replace("alias: a", "alias: Transactions"),
        "CATALOG_002",
        12,
        "Transactions",
        "main",
    ),
    Wrong(
        "alias twice but for case",
        lookup(TABLE) + lookup(TABLE).splitlines()[-1].replace("alias: a", "alias: A") + "\n",
        "CATALOG_002",
        13,
        "A",
        "given twice",
        "case",
    ),
    Wrong(
        "alias of the table",
        lookup(TABLE).replace("alias: a", "alias: transactions"),
        "CATALOG_002",
        12,
        "transactions",
        "main",
    ),
]
DATASOURCE_CASES = [
    Wrong("missing type", "datasource: {id: x}\n", "CATALOG_002", 1, "datasource", "required key 'type' is missing"),
    Wrong(
        "password",
        "datasource: {id: x, type: jdbc, options: {password: a}}\n",
        "CATALOG_002",
        1,
        "password",
        "secret",
        "env",
    ),
    Wrong(
        "secret word",
        "datasource: {id: x, type: csv, options: {fs.s3a.secret.key: a}}\n",
        "CATALOG_002",
        1,
        "fs.s3a.secret.key",
        "",
    ),
    Wrong(
        "camel case",
        "datasource: {id: x, type: csv, options: {accessToken: a}}\n",
        "CATALOG_002",
        1,
        "accessToken",
        "token",
    ),
    Wrong(
        "password in url",
        "datasource: {id: x, type: jdbc, options: {url: 'jdbc:postgresql://u:pw@h/d'}}\n",
        "CATALOG_002",
        1,
        "'jdbc:postgresql://u:pw@h/d'",
        "url contains a password",
        "credential_ref",
    ),
    *(
        Wrong(
            f"secret option {name}",
            f"datasource: {{id: x, type: jdbc, options: {{'{name}': a}}}}\n",
            "CATALOG_002",
            1,
            f"'{name}'",
            "may hold a secret",
        )
        for name in (
            "PassWord",
            "accesskey",
            "fs.s3a.accesskey",
            "pwd",
            "PASSWD",
            "sslpassword",
            "pass%77ord",
            "a\u00a0key",
        )
    ),
    *(
        Wrong(
            f"secret in url {end}",
            f"datasource: {{id: x, type: jdbc, options: {{Url: 'jdbc:postgresql://h/d{end}'}}}}\n",
            "CATALOG_002",
            1,
            "'jdbc:postgresql://h/d",
            "url contains a password",
        )
        for end in (
            "?user=a&sslpassword=x",
            "?pass%77ord=x",
            ";ACCESSKEY=x",
            "?x-amz-signature=x",
            "?si%67=x",
            "(pwd=x)",
        )
    ),
    *(
        Wrong(
            f"code in option {option}",
            f"datasource: {{id: x, type: csv, options: {{{option}}}}}\n",
            "CATALOG_002",
            1,
            option.split(":")[0],
            "is refused: it may hold a statement or name a class",
            "plain values",
        )
        for option in ("compression: org.x.Y", "io.compression.codecs: z", "sessionInitStatement: CALL x()", "a: b.C")
    ),
    *(
        Wrong(
            f"option {option} that moves files",
            f"datasource: {{id: x, type: csv, options: {{{option}: /elsewhere}}}}\n",
            "CATALOG_002",
            1,
            option,
            f"option '{option}' is refused: it would move files",
            "`path_prefix`",
        )
        for option in ("path", "mapreduce.output.basename")
    ),
    Wrong(
        "options that differ in case",
        "datasource: {id: x, type: csv, options: {header: a, Header: b}}\n",
        "CATALOG_002",
        1,
        "Header",
        "options 'header' and 'Header' differ only in case",
        "keep one",
    ),
    Wrong(
        "mode that is not strict",
        "datasource: {id: x, type: CSV, options: {MODE: DROPMALFORMED}}\n",
        "CATALOG_002",
        1,
        "MODE",
        "would leave out or mix up what Spark cannot read",
        "remove it",
    ),
    Wrong(
        "password after ?",
        "datasource: {id: x, type: jdbc, options: {url: 'jdbc:postgresql://h/d?password=x'}}\n",
        "CATALOG_002",
        1,
        "'jdbc:postgresql://h/d?passwor",
        "url contains a password",
    ),
    Wrong(
        "prefix with login",
        "datasource: {id: x, type: csv, path_prefix: 'ftp://u:pw@h/'}\n",
        "CATALOG_002",
        1,
        "'ftp://u:pw@h/'",
        "",
    ),
    Wrong(
        "credential",
        "datasource: {id: x, type: jdbc, credential_ref: hunter2}\n",
        "CATALOG_004",
        1,
        "hunter2",
        "cannot work",
    ),
]
RESOLVER_CASES = [
    Wrong("no rules", "resolver: {id: x, version: 1}\n", "CATALOG_002", 1, "resolver", "'rules' is missing"),
    Wrong("unknown datasource", resolver("id: lake", "id: lak"), "CATALOG_004", 6, "lak", "'lak'", "'lake'"),
    Wrong(
        "token not closed", resolver("{{table_name}}", "{{table_name"), "CATALOG_002", 6, "{{", "half of a", "like {{"
    ),
    Wrong("token half closed", resolver("{{table_name}}", "{{table_name}"), "CATALOG_002", 6, "{{", "half of a"),
    Wrong("token not opened", resolver("{{table_name}}", "table_name}}"), "CATALOG_002", 6, "}}", "half of a"),
    Wrong("token begun twice", resolver("{{table_name}}", "{{MM}}/{{table_name"), "CATALOG_002", 6, "{{", "half of a"),
    Wrong(
        "unknown token",
        resolver("{{table_name}}", "{{tabel_name}}"),
        "RESOLVE_004",
        6,
        "{{tabel_name}}",
        "",
        "'table_name'",
    ),
    Wrong(
        "unknown level", resolver("all,", "all, data_level: monht,"), "CATALOG_004", 6, "monht", "'monht'", "'month'"
    ),
    Wrong(
        "two dots",
        resolver('"{{table', '"../{{table'),
        "CATALOG_002",
        6,
        '"../{{table_name}}.parquet"',
        "leaves the datasource",
    ),
    Wrong(
        "strategy",
        resolver("type: path", "type: pth"),
        "CATALOG_002",
        6,
        "pth",
        "one of path, table, catalog",
        "'path'",
    ),
    Wrong("on_missing", resolver("all,", "all, on_missing: eror,"), "CATALOG_002", 6, "eror", "one of", "'error'"),
    Wrong(
        "second default", resolver("id: r", "id: r2"), "CATALOG_002", 4, "true", "second default beside 'r'", "line 4"
    ),
    Wrong("class", "resolver: {id: x, version: 1, class: 'os; x'}\n", "CATALOG_002", 1, "'os; x'", "name of a class"),
    Wrong("condition column", resolver("all,", "all, when: 'table.nam = \"x\"',"), "EXPR_002", 6, "table.nam", "nam"),
    Wrong("condition syntax", resolver("all,", "all, when: 'table.name = ',"), "EXPR_001", 6, " ',", ""),
    Wrong("condition type", resolver("all,", "all, when: 'table.name',"), "EXPR_004", 6, "table.name", ""),
]
CALENDAR_CASES = [
    Wrong(
        "end before start",
        calendar(YEAR.replace("2026-12-31", "2025-12-31")),
        "CATALOG_002",
        5,
        "2025-12-31",
        "before it starts",
    ),
    Wrong(
        "impossible day",
        calendar(YEAR.replace("12-31", "02-30")),
        "CATALOG_002",
        5,
        "2026-02-30",
        "'2026-02-30' is not a date",
        "Y",
    ),
    Wrong(
        "unknown level", calendar(YEAR.replace("level: year", "level: yeer")), "CATALOG_004", 5, "yeer", "", "'year'"
    ),
    Wrong(
        "identifier twice", calendar(YEAR + YEAR.replace("2026-", "2027-")), "CATALOG_002", 6, "Y26", "given twice", "5"
    ),
    Wrong(
        "overlap",
        calendar(YEAR + YEAR.replace("Y26", "Y27").replace("2026-01", "2026-12")),
        "CATALOG_002",
        6,
        "2026-12-01",
        "'Y27' overlaps 'Y26'",
        "ends on 2026-12-31",
    ),
    Wrong(
        "unknown parent",
        calendar("    - {identifier: M1, level: month, parent: Y, start_date: 2026-01-01, end_date: 2026-01-31}\n"),
        "CATALOG_002",
        5,
        "Y",
        "unknown parent period 'Y'",
    ),
    Wrong(
        "outside its parent",
        calendar(
            YEAR + "    - {identifier: M1, level: month, parent: Y26, start_date: 2025-12-31, end_date: 2026-01-31}\n"
        ),
        "CATALOG_002",
        6,
        "Y26",
        "inside",
    ),
    Wrong(
        "parent of wrong level",
        calendar(YEAR + YEAR.replace("Y26", "Y27").replace("2026", "2027").replace("year,", "year, parent: Y26,")),
        "CATALOG_002",
        6,
        "Y26",
        "is of level 'year', expected no parent",
    ),
    Wrong(
        "level from fine to coarse",
        calendar(YEAR, "{name: month, parent_level: year}, {name: year}"),
        "CATALOG_002",
        3,
        "year",
        "must come after",
        "coarse to fine",
    ),
    Wrong("unknown parent level", calendar(YEAR, "{name: year, parent_level: era}"), "CATALOG_004", 3, "era", "'era'"),
    Wrong(
        "status",
        calendar(YEAR.replace("}", ", status: shut}")),
        "CATALOG_002",
        5,
        "shut",
        "one of open, closed, locked",
    ),
    Wrong(
        "identifier with a slash", calendar(YEAR.replace("Y26", "Y/26")), "CATALOG_002", 5, "Y/26", "valid identifier"
    ),
    Wrong(
        "pattern", calendar(YEAR, '{name: year, identifier_pattern: "FY{year}"}'), "CATALOG_002", 5, "Y26", "'FY{year}'"
    ),
    Wrong(
        "pattern with a token twice",
        calendar(YEAR, '{name: year, identifier_pattern: "' + "{x}" * 12 + '!"}').replace("Y26", "a" * 150),
        "CATALOG_002",
        3,
        '"' + "{x}" * 12 + '!"',
        "holds a token twice",
        "use year",
    ),
    Wrong(
        "pattern with several tokens of any characters",
        calendar(YEAR, '{name: year, identifier_pattern: "{year}{a}{b}{c}"}'),
        "CATALOG_002",
        3,
        '"{year}{a}{b}{c}"',
        "more than two tokens of any characters: a, b, c",
    ),
    Wrong(
        "built-in id", "calendar: {id: gregorian, levels: [{name: day}]}\n", "CATALOG_003", 1, "gregorian", "built in"
    ),
]
PROJECT_CASES = [
    Wrong(
        "no operations",
        project(PROJECT[PROJECT.index("    - {") :], ""),
        "CATALOG_002",
        6,
        "operations",
        "expected a list",
    ),
    Wrong(
        "operation type",
        operation("{seq: 1, name: a, type: updat, arguments: {}}"),
        "CATALOG_002",
        7,
        "updat",
        "",
        "'update'",
    ),
    Wrong(
        "no operation type",
        operation("{seq: 1, name: a, arguments: {}}"),
        "CATALOG_002",
        7,
        "{seq: 1, n",
        "'type' is missing",
    ),
    Wrong(
        "both names of seq",
        operation("{seq: 1, order: 1, name: a, type: delete, arguments: {}}"),
        "CATALOG_002",
        7,
        "order",
        "'order' and 'seq' mean the same",
        "remove 'order'",
    ),
    Wrong(
        "append with selector",
        operation("{seq: 1, name: a, type: append, selector: x, arguments: {source: {dataset_id: gl}}}"),
        "CATALOG_002",
        7,
        "selector",
        "'selector'",
        "source_selector",
    ),
    Wrong(
        "delete with arguments",
        operation("{seq: 1, name: a, type: delete, arguments: {x: 1}}"),
        "CATALOG_002",
        7,
        "x",
        "'x'",
    ),
    Wrong("seq as text", project("seq: 10", "seq: ten"), "CATALOG_002", 7, "ten", "whole number, found the text 'ten'"),
    Wrong("selector name", PROJECT + "  selectors: {a-b: x}\n", "CATALOG_002", 8, "a-b", "'a-b' is not a valid name"),
    Wrong("unknown calendar", PROJECT + "  calendar: gregorain\n", "CATALOG_004", 8, "gregorain", "", "'gregorian'"),
    Wrong("unknown level", PROJECT + "  level: monht\n", "CATALOG_004", 8, "monht", "no level 'monht'", "'month'"),
    Wrong("override", PROJECT + "  resolver_overrides: {gl: rx}\n", "CATALOG_004", 8, "rx", "unknown resolver 'rx'"),
    Wrong(
        "secret in destination",
        operation(DESTINATION % "{type: csv, path: x, options: {token: a}}"),
        "CATALOG_002",
        7,
        "token",
        "may hold a secret",
    ),
    Wrong(
        "write mode",
        operation(
            "{seq: 1, name: a, type: output, arguments: {write_mode: append, destination: "
            "{datasource_id: lake, table: t}}}"
        ),
        "CATALOG_002",
        7,
        "append",
        "one of replace_period",
    ),
    Wrong(
        "schedule",
        airflow("{schedule: sometimes}"),
        "CATALOG_002",
        8,
        "sometimes",
        "'sometimes' is not a cron expression",
        "cron",
    ),
    Wrong("time zone", airflow("{timezone: Mars/Base}"), "CATALOG_002", 8, "Mars/Base", "unknown time zone"),
    Wrong("duration", airflow("{retry_delay: 5 minutes}"), "CATALOG_002", 8, "5 minutes", "not a duration", "15m"),
    Wrong("deadline", airflow("{deadline: {after_period_end: soon}}"), "CATALOG_002", 8, "soon", "not a duration"),
    Wrong(
        "two deadlines",
        airflow("{deadline: {after_period_end: 3d, after_queued: 2h}}"),
        "CATALOG_002",
        8,
        "{after_per",
        "either",
    ),
    Wrong(
        "start date", airflow("{start_date: 2026-13-01}"), "CATALOG_002", 8, "2026-13-01", "not a date", "YYYY-MM-DD"
    ),
    Wrong("retries", airflow("{retries: -1}"), "CATALOG_002", 8, "-1", "at least 0"),
    Wrong(
        "unknown setting",
        airflow("{schedul: null}"),
        "CATALOG_002",
        8,
        "schedul",
        "unknown key 'schedul'",
        "'schedule'",
    ),
]
NAME_CASES = [
    Wrong(
        "same id and version",
        GL,
        "CATALOG_003",
        2,
        "gl",
        "dataset 'gl' version 1 is defined twice",
        "good2.yaml, line 2",
    ),
    Wrong(
        "same name",
        gl("id: gl", "id: other"),
        "CATALOG_003",
        3,
        "GL Transactions",
        "name 'GL Transactions' is taken",
        "line 3",
    ),
    Wrong(
        "name is another's id",
        gl("id: gl\n  name: GL Transactions", "id: o\n  name: gl"),
        "CATALOG_003",
        3,
        "gl",
        "'gl'",
    ),
    Wrong("same datasource", LAKE, "CATALOG_003", 1, "lake", "datasource 'lake' is defined twice", "good0.yaml"),
]


def check(case: Wrong, *others: str) -> None:
    problems = load(case.text, *others).problems
    assert [describe(problem) for problem in problems] == [f"{case.code} wrong.yaml:{case.line}"]
    line = case.text.split("\n")[case.line - 1]
    assert line[problems[0].location.column - 1 :].startswith(case.at)
    assert case.message in problems[0].message
    assert case.hint is None or case.hint in (problems[0].hint or "")
    assert not problems[0].message.endswith(".")


def describe(problem: Problem) -> str:
    location = problem.location
    return f"{problem.code} {location.file}:{location.line}"


def name_of(case: Wrong) -> str:
    return case.name


@pytest.mark.parametrize("key", ["pasword", '"pass wrd"', "conection"])
@pytest.mark.parametrize("value", ["canary", "[canary]", "postgresql:canary", "'canary'  # mine"])
def test_value_of_an_unknown_key_is_not_shown(key: str, value: str) -> None:
    (problem,) = load(f"datasource:\n  id: x\n  {key}: {value}\n  type: csv\n").problems
    assert problem.location.source_line == f"  {key}: …"


@pytest.mark.parametrize("case", YAML_CASES + DOCUMENT_CASES, ids=name_of)
def test_document_wrong_problem_has_code_place_and_hint(case: Wrong) -> None:
    check(case)


@pytest.mark.parametrize("case", MODEL_CASES + DATASET_CASES + DATASOURCE_CASES, ids=name_of)
def test_dataset_or_datasource_wrong_problem_has_code_place_and_hint(case: Wrong) -> None:
    check(case, LAKE, RESOLVER)


@pytest.mark.parametrize("case", CALENDAR_CASES, ids=name_of)
def test_calendar_wrong_problem_has_code_place_and_hint(case: Wrong) -> None:
    check(case)


@pytest.mark.parametrize("case", [case for case in RESOLVER_CASES if case.name != "second default"], ids=name_of)
def test_resolver_wrong_problem_has_code_place_and_hint(case: Wrong) -> None:
    check(case, LAKE)


@pytest.mark.parametrize("case", [case for case in RESOLVER_CASES if case.name == "second default"], ids=name_of)
def test_default_resolver_second_problem_has_code_place_and_hint(case: Wrong) -> None:
    check(case, LAKE, RESOLVER)


@pytest.mark.parametrize("case", PROJECT_CASES, ids=name_of)
def test_project_wrong_problem_has_code_place_and_hint(case: Wrong) -> None:
    check(case, LAKE, RESOLVER, GL)


@pytest.mark.parametrize("case", NAME_CASES, ids=name_of)
def test_name_taken_problem_has_code_place_and_hint(case: Wrong) -> None:
    check(case, LAKE, RESOLVER, GL)


def test_definitions_valid_no_problem() -> None:
    assert load(PROJECT, LAKE, RESOLVER, GL).problems == ()

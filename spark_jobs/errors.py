"""The job's errors: one exception, its exit codes, and the translation of what Spark throws.

Compiled SQL carries comments like `/*@10:assignments[0].expression*/` inside whatever can fail on a value. Spark gives
the failing fragment back, and so an overflow on a cluster is reported at the line of YAML it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.contract import problems
from spark_jobs.contract.codes import Code, get_family
from spark_jobs.contract.sql import quote_text
from spark_jobs.redaction import redact

RAISED_PREFIX = "@runtime:"
FACT_MARK = "\x1f"
"""Stands in what is raised before the file and the value that a message is about."""
_NO_TEXT = "''"


@dataclass(frozen=True, slots=True)
class MarkedProblem:
    """One thing that is wrong; `mark` names the place in the YAML through the plan's marks."""

    code: Code
    message: str
    hint: str | None = None
    mark: str | None = None
    column: str | None = None


class JobError(Exception):
    """Whatever stops a job, with a code, a place and, where there is one, a remedy."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str | None = None,
        mark: str | None = None,
        column: str | None = None,
        problems: Iterable[MarkedProblem] = (),
        newest_token: int | None = None,
    ) -> None:
        self.newest_token = newest_token
        self.problems: tuple[MarkedProblem, ...] = tuple(problems) or (
            MarkedProblem(code, message, hint, mark, column),
        )
        super().__init__("\n".join(f"{problem.code}: {problem.message}" for problem in self.problems))

    @classmethod
    def of(cls, problems: Iterable[MarkedProblem]) -> JobError:
        """Return one error for all the problems found."""
        found = tuple(problems)
        return cls(found[0].code, found[0].message, problems=found)

    @property
    def code(self) -> Code:
        """Code of the first problem."""
        return self.problems[0].code

    @property
    def message(self) -> str:
        """Message of the first problem."""
        return self.problems[0].message

    @property
    def hint(self) -> str | None:
        """Hint of the first problem."""
        return self.problems[0].hint

    @property
    def mark(self) -> str | None:
        """Mark of the first problem."""
        return self.problems[0].mark

    @property
    def column(self) -> str | None:
        """Column of the first problem."""
        return self.problems[0].column

    @property
    def exit_code(self) -> int:
        """Exit status of a process that ends with this error."""
        return get_family(self.code).exit_status


def raise_sql(
    code: Code,
    message_sql: str,
    *,
    mark: str,
    column: str | None = None,
    value_sql: str | None = None,
    file_sql: str | None = None,
) -> str:
    """Return SQL that fails a row with a code; message, value and file are SQL text expressions."""
    head = json.dumps({"code": code, "mark": mark, "column": column})
    facts = "".join(f", '{FACT_MARK}', {sql or _NO_TEXT}" for sql in (file_sql, value_sql)) if file_sql else ""
    return f"raise_error(concat({quote_text(RAISED_PREFIX + head)}, {message_sql}{facts}))"


def shorten(text: str, limit: int = 200) -> str:
    """Return a text on one line and of bounded length, control characters replaced and secrets hidden."""
    # Secrets first: what is cut or replaced is not recognised any more.
    return problems.shorten(redact(text), limit)

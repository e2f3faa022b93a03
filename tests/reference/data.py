"""Random tables: the datasets of a project, with their rows in this period and others."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from tests.reference.checks import Expected
from tests.reference.drawing import CODES, TEXTS
from tests.reference.engine import Record, Table
from tests.reference.group_drawing import GroupGenerator

PERIOD = "2026-02"
UNDETERMINED = "undetermined"
"""The failure of a project whose rows depend on ids that only the engine knows."""
ROW_ID = "019471a0-0000-7000-8000-{:012d}"
MODES = ["period", "snapshot", "bitemporal"]
LEDGER = {
    "id": "string",
    "region": "string",
    "amount": "decimal(18,2)",
    "qty": "integer",
    "posted": "date",
    "flag": "boolean",
}
TEAMS = {"code": "string", "label": "string", "weight": "integer"}
RATES = {"code": "string", "rate": "decimal(18,6)", "target": "decimal(12,2)", "note": "string"}
BUDGET = {"region": "string", "amount": "decimal(18,2)", "qty": "integer"}
TEAM_LOOKUP: dict[str, object] = {
    "alias": "team",
    "target": {"type": "dataset", "id": "teams"},
    "join_conditions": [{"source_column": "region", "target_column": "code"}],
}


@dataclass
class RandomProject:
    """One random project with its data, its scenario document, and the rows that must come out."""

    seed: int
    datasets: list[dict[str, object]] = field(default_factory=list)
    data: list[dict[str, object]] = field(default_factory=list)
    operations: list[dict[str, object]] = field(default_factory=list)
    selectors: dict[str, str] = field(default_factory=dict)
    outputs: dict[int, list[Record]] = field(default_factory=dict)
    output_columns: dict[int, list[str]] = field(default_factory=dict)
    fails_with: str | None = None
    checks: list[dict[str, object]] = field(default_factory=list)
    results: list[Expected] = field(default_factory=list)

    def scenario(self) -> dict[str, object]:
        """The scenario document of this project, with the reference's rows as what is expected."""
        fails_with = "CHECK_001" if any(result.status == "failed" for result in self.results) else self.fails_with
        if fails_with == UNDETERMINED:
            # Nobody compares what comes out; a scenario has to expect something.
            fails_with = "DATA_001"
        expect: dict[str, object] = (
            {"error": {"code": fails_with}}
            if fails_with
            else {
                "outputs": [
                    {
                        "operation": seq,
                        "match": "exact",
                        "rows": [{name: show(row[name]) for name in self.output_columns[seq]} for row in rows],
                    }
                    | ({"row_count": 0} if not rows else {})
                    for seq, rows in self.outputs.items()
                ]
            }
        )
        if self.results:
            expect["checks"] = [result.to_yaml() for result in self.results]
        return {
            "scenario": f"random project {self.seed}",
            "run": {"project": "random", "period": PERIOD},
            "datasets": self.datasets,
            "projects": [
                {
                    "id": "random-project",
                    "name": "random",
                    "version": 1,
                    "input_dataset_id": "ledger",
                    "selectors": self.selectors,
                    "operations": self.operations,
                    "checks": self.checks,
                }
            ],
            "data": self.data,
            "expect": expect,
        }


def show(value: object) -> str | bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)


class DataGenerator(GroupGenerator):
    """Draws the tables that a project reads."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.project = RandomProject(seed)

    def _make_tables(self) -> None:
        choose = self.random.choice
        self._make_ledger()
        teams = [{"code": code, "label": choose(TEXTS), "weight": self._integer()} for code in ["EMEA", "APAC", "it's"]]
        self._add_table("teams", TEAMS, "snapshot", teams)
        duplicated = self.random.random() < 0.25
        keys = [*CODES[:4], *(["A"] if duplicated else [])]
        for name, mode in (("rates", "bitemporal"), ("targets", "period"), ("codes", choose(MODES))):
            rates = [
                {"code": key, "rate": self._decimal(6), "target": self._decimal(2), "note": choose([*TEXTS, None])}
                for key in keys
            ]
            self._add_table(name, RATES, mode, rates, spread=True)
        mode = choose(MODES)
        budget = [self._ledger_row(number, tuple(BUDGET)) for number in range(self.random.randint(0, 8))]
        self._add_table("budget", BUDGET, mode, budget)

    def _make_ledger(self) -> None:
        rows = [self._ledger_row(number) for number in range(self.random.randint(0, 18))]
        self.has_ids = self.random.random() < 0.6
        if self.has_ids:
            self.random.shuffle(rows)
            rows = [row | {"_row_id": ROW_ID.format(number)} for number, row in enumerate(rows)]
            self.random.shuffle(rows)
        mode = self.random.choice(["period", "period", "snapshot", "bitemporal"])
        self._add_table("ledger", LEDGER, mode, rows, [TEAM_LOOKUP])

    def _add_table(
        self,
        name: str,
        columns: dict[str, str],
        mode: str,
        rows: list[Record],
        lookups: list[dict[str, object]] | None = None,
        *,
        spread: bool = False,
    ) -> None:
        """Add a dataset; `spread` gives each row a twin in another period or range, so that a wrong filter shows."""
        placed: list[Record] = []
        for row in rows:
            if mode == "snapshot":
                placed.append(row)
            elif mode == "period":
                periods = ["2026-01", "2026-02"] if spread else [self.random.choice(["2026-01", "2026-02", "2026-02"])]
                placed += [(row if turn == 0 else _age(row)) | {"_period": name} for turn, name in enumerate(periods)]
            else:
                ranges = [(date(2025, 1, 1), date(2026, 2, 1)), (date(2026, 2, 1), None)]
                if self.random.random() < 0.3:
                    ranges = [(date(2026, 2, 2), None), (date(2026, 1, 1), date(2026, 2, 2))]
                chosen = ranges if spread else [self.random.choice(ranges)]
                placed += [
                    (row if turn == 0 else _age(row)) | {"_period_from": start, "_period_to": end}
                    for turn, (start, end) in enumerate(chosen)
                ]
        shift = -1 if self.random.random() < (0.1 if name == "ledger" else 0.2) else 0
        table = Table(name, columns, mode, placed, shift)
        self.tables[name] = table
        declared = [{"name": column} | _declare(kind) for column, kind in columns.items()]
        main = {"name": f"{name}_rows", "temporal_mode": mode, "columns": declared}
        document: dict[str, object] = {"id": name, "name": name.title(), "version": 1, "main_table": main}
        document |= {"period_shift": shift, "on_missing": "empty"} if shift else {}
        self.project.datasets.append(document | ({"lookups": lookups} if lookups else {}))
        shown = [
            {column: show(value) for column, value in row.items() if value is not None or self.random.random() < 0.5}
            for row in placed
        ]
        if shown:
            every = [*columns, *[c for c in ("_row_id", "_period", "_period_from", "_period_to") if c in placed[0]]]
            shown[0] = {column: show(placed[0].get(column)) for column in every}
            self.project.data.append({"dataset": name, "rows": shown})

    def _ledger_row(self, number: int, only: tuple[str, ...] | None = None) -> Record:
        choose = self.random.choice
        row: Record = {
            "id": f"JE-{number}",
            "region": choose([*TEXTS, *CODES, "EMEA", "A", "B", None]),
            "amount": choose([self._decimal(2), self._decimal(2), Decimal("0.00"), None]),
            "qty": choose([self._integer(), self._integer(), None]),
            "posted": choose([date(2026, 2, self.random.randint(1, 28)), None]),
            "flag": choose([True, False, None]),
        }
        return row if only is None else {name: row[name] for name in only}

    def _decimal(self, scale: int) -> Decimal:
        return Decimal(self.random.randint(-(10**8), 10**8)).scaleb(-scale)

    def _integer(self) -> Decimal:
        return Decimal(self.random.randint(-50, 50))


def _declare(kind: str) -> dict[str, object]:
    if not kind.startswith("decimal"):
        return {"type": kind}
    precision, scale = kind[8:-1].split(",")
    return {"type": "decimal", "precision": int(precision), "scale": int(scale)}


def _age(row: Record) -> Record:
    """Return a row with other numbers."""
    return {name: value + 1 if isinstance(value, Decimal) else value for name, value in row.items()}

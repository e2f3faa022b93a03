"""The results of scenarios as text, JSON and JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from xml.etree import ElementTree

from airflow_provider_runtime.core.rendering import escape_control, render_problems
from airflow_provider_runtime.scenarios.runner import ScenarioResult

COLORS = {"passed": "\x1b[32m", "failed": "\x1b[31m", "error": "\x1b[31m"}
RESET = "\x1b[0m"
MOST_MISMATCHES = 20


def render_result(result: ScenarioResult, color: bool) -> str:
    """Return a line for the scenario, and below it what is not as expected."""
    word = f"{COLORS[result.status]}{result.status}{RESET}" if color else result.status
    lines = [f"{word}  {escape_control(result.scenario)}  ({result.seconds:.1f} s)"]
    if result.problems:
        lines.append(render_problems(result.problems, color))
    elif result.status == "error":
        lines.append(f"  {escape_control(result.message)}")
    for mismatch in result.mismatches[:MOST_MISMATCHES]:
        place = f"operation {mismatch.operation}: " if mismatch.operation is not None else ""
        lines.append(f"  {place}{escape_control(mismatch.message)}")
    if len(result.mismatches) > MOST_MISMATCHES:
        lines.append(f"  and {len(result.mismatches) - MOST_MISMATCHES} more")
    if result.status != "passed":
        lines.append(f"  in {escape_control(result.file)}")
    return "\n".join(lines)


def make_json(results: Sequence[ScenarioResult]) -> dict[str, object]:
    """Return the results as one document."""
    passed = sum(result.status == "passed" for result in results)
    return {
        "passed": passed,
        "failed": len(results) - passed,
        "results": [
            {
                "scenario": result.scenario,
                "file": result.file,
                "status": result.status,
                "message": result.message,
                "mismatches": [asdict(mismatch) for mismatch in result.mismatches],
            }
            for result in results
        ],
    }


def make_junit(results: Sequence[ScenarioResult]) -> str:
    """Return the results as JUnit XML."""
    failures = sum(result.status == "failed" for result in results)
    errors = sum(result.status == "error" for result in results)
    suite = ElementTree.Element(
        "testsuite",
        name="airflow-runtime",
        tests=str(len(results)),
        failures=str(failures),
        errors=str(errors),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", name=_clean(result.scenario), classname=_clean(result.file), time=f"{result.seconds:.3f}"
        )
        if result.status != "passed":
            kind = "failure" if result.status == "failed" else "error"
            element = ElementTree.SubElement(case, kind, message=_clean(result.message))
            element.text = _clean("\n".join(mismatch.message for mismatch in result.mismatches) or result.message)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _clean(text: str) -> str:
    """Replace characters that XML cannot hold."""
    return "".join(
        c if c in "\t\n" or (" " <= c <= "\ud7ff") or ("\ue000" <= c <= "\ufffd") or c > "\uffff" else "?" for c in text
    )

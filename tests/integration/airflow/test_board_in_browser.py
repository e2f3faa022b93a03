"""The board in a browser, as people who close periods use it: they look, approve, close, and see what is refused."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.integration.airflow.standalone import DONE, Standalone
from tests.integration.airflow.test_approval import DAG, ask, list_published, list_runs

CHROMIUM = shutil.which("chromium")
PERIOD = "2026-03"
CHECKED = "checked"
"""A project whose first run of the period is stopped by a check."""
PATIENCE = 90_000
LINKS = {
    "resolve": ("Evidence", "Snapshot"),
    "run": ("Evidence", "Snapshot", "Run report"),
    "approve": ("Evidence", "Snapshot", "Run report"),
    "publish": ("Evidence", "Snapshot", "Run report"),
}
"""What the pages of the tasks link to."""

pytestmark = [
    pytest.mark.integration,
    pytest.mark.airflow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def staged(airflow: Standalone) -> str:
    """A run of ann whose rows wait for a decision."""
    run_id, _ = ask(airflow, PERIOD, "ann")
    return run_id


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def session(browser: Browser, airflow: Standalone) -> Iterator[BrowserContext]:
    """A browser in which ben has logged in."""
    context = log_in(browser, airflow, "ben")
    yield context
    context.close()


def log_in(browser: Browser, airflow: Standalone, name: str) -> BrowserContext:
    """Return a session of a user."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme="light")
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    page = context.new_page()
    page.goto(address(airflow))
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", name)
    page.click("button[type=submit]")
    page.wait_for_url(f"{address(airflow)}/")
    page.close()
    return context


@pytest.fixture
def page(session: BrowserContext) -> Iterator[Page]:
    opened = session.new_page()
    yield opened
    opened.close()


def address(airflow: Standalone) -> str:
    return f"http://127.0.0.1:{airflow.port}"


def open_board(page: Page, airflow: Standalone, calendar: str = "approved-books") -> None:
    """Choose the calendar of the project that is looked at."""
    page.goto(f"{address(airflow)}/plugin/periods?calendar={calendar}&level=month&year=all")
    page.get_by_role("grid").wait_for()


def open_evidence(
    page: Page, airflow: Standalone, dag: str = DAG, period: str = PERIOD, calendar: str = "approved-books"
) -> Locator:
    """Reach the period's cell by its name, as somebody who does not see colours does."""
    open_board(page, airflow, calendar)
    page.get_by_role("button", name=f"{dag}, {period}").click()
    evidence = page.get_by_test_id("evidence")
    evidence.wait_for()
    return evidence


def confirm(page: Page, button: str, reason: str, confirmed_by: str | None = None) -> str:
    """Press a button, give the reason, and return what was said would happen."""
    confirmed_by = confirmed_by or button
    page.get_by_test_id("evidence").get_by_role("button", name=button, exact=True).click()
    dialog = page.get_by_role("dialog")
    said = dialog.inner_text()
    assert dialog.get_by_role("button", name=confirmed_by, exact=True).is_disabled()
    dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=confirmed_by, exact=True).click()
    dialog.wait_for(state="hidden")
    return said


def test_matrix_is_reached_from_the_navigation_and_by_keys(page: Page, airflow: Standalone, staged: str) -> None:
    page.goto(address(airflow))
    page.get_by_role("button", name="Browse").click()
    page.get_by_role("menuitem", name="Periods").click()
    page.get_by_role("grid").wait_for()
    open_board(page, airflow)
    page.get_by_role("button", name=f"{DAG}, {PERIOD}: staged").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("button", name=f"{DAG}, 2026-02")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"{DAG}, {PERIOD}")).to_be_visible()
    expect(page.get_by_role("region", name="Waiting for a decision")).to_contain_text("approved by ben")


def test_dark_mode_is_that_of_airflow(page: Page, airflow: Standalone, staged: str) -> None:
    shades = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        open_evidence(page, airflow)
        shades.append(page.evaluate("getComputedStyle(document.querySelector('thead th')).backgroundColor"))
    assert len(set(shades)) == 2


def test_approval_publishes_what_waits(page: Page, airflow: Standalone, staged: str) -> None:
    open_evidence(page, airflow)
    said = confirm(page, "Approve", "totals agree")
    assert "is published" in said
    expect(page.get_by_role("status")).to_contain_text("is approved")
    assert airflow.wait_for_run(DAG, staged) == "success"
    open_evidence(page, airflow)
    expect(page.get_by_test_id("evidence")).to_contain_text("totals agree")
    expect(page.get_by_role("button", name=f"{DAG}, {PERIOD}: fresh")).to_be_visible()


def open_link(page: Page, link: Locator) -> str:
    """Click on a link that opens a tab of its own, and return what is shown there."""
    with page.context.expect_page() as opened:
        link.click()
    shown = opened.value
    shown.wait_for_load_state()
    text = shown.inner_text("body")
    shown.close()
    return text


def test_links_of_the_evidence_open_dag_run_log_and_files(page: Page, airflow: Standalone, staged: str) -> None:
    open_evidence(page, airflow)
    evidence = page.get_by_test_id("evidence")
    (run,) = list_runs(airflow, PERIOD)
    assert f'"run_id":"{run.run_id}"' in open_link(page, evidence.get_by_role("link", name="Snapshot")).replace(" ", "")
    assert '"operations"' in open_link(page, evidence.get_by_role("link", name="Report"))
    assert f"{DAG}, {PERIOD}" in open_link(page, evidence.get_by_role("link", name="Evidence as a file"))
    evidence.get_by_role("link", name="Log").click()
    expect(page).to_have_url(re.compile(f"/dags/{DAG}/runs/.*/tasks/"))
    open_evidence(page, airflow)
    evidence.get_by_role("link", name="DAG run").click()
    expect(page).to_have_url(re.compile(f"/dags/{DAG}/runs/"))
    expect(page.get_by_role("link", name="Periods")).to_be_visible()


@pytest.mark.parametrize(("task", "name"), [(task, name) for task, names in LINKS.items() for name in names])
def test_link_of_a_task_opens_what_it_names(page: Page, airflow: Standalone, staged: str, task: str, name: str) -> None:
    page.goto(f"{address(airflow)}/dags/{DAG}/runs/{quote(staged, safe='')}/tasks/{task}/details")
    page.get_by_role("link", name=name, exact=True).click()
    if name == "Evidence":
        expect(page.get_by_role("heading", name=f"{DAG}, {PERIOD}")).to_be_visible()
        return
    page.wait_for_url(re.compile("/runtime-board/api/dags/"))
    shown = json.loads(page.inner_text("pre"))
    (run,) = list_runs(airflow, PERIOD)
    assert shown["run_id"] == run.run_id
    assert ("operations" in shown) == (name == "Run report")


def test_tabs_of_a_dag_and_of_its_run_show_its_periods(page: Page, airflow: Standalone, staged: str) -> None:
    page.goto(f"{address(airflow)}/dags/{DAG}")
    page.get_by_role("link", name="Periods").click()
    expect(page.get_by_role("grid").get_by_role("button", name=f"{DAG}, {PERIOD}")).to_be_visible()
    page.goto(f"{address(airflow)}/dags/{DAG}/runs/{quote(staged, safe='')}")
    page.get_by_role("link", name="Periods").click()
    expect(page.get_by_role("heading", name=f"{DAG}, {PERIOD}")).to_be_visible()


def test_closed_period_refuses_the_next_run(page: Page, airflow: Standalone, staged: str) -> None:
    open_evidence(page, airflow)
    said = confirm(page, "Close", "books are done")
    assert "until somebody reopens it" in said
    expect(page.get_by_test_id("evidence")).to_contain_text("books are done")
    expect(page.get_by_role("button", name="Run this period")).to_be_disabled()

    run_id = airflow.trigger(DAG, PERIOD)
    assert airflow.wait_for_run(DAG, run_id) == "failed"
    page.goto(f"{address(airflow)}/dags/{DAG}/runs/{quote(run_id, safe='')}/plugin/periods-of-run")
    told = page.get_by_test_id("evidence").get_by_role("alert").first
    expect(told).to_contain_text("The task resolve failed")

    open_evidence(page, airflow)
    confirm(page, "Reopen", "an invoice came late")
    expect(page.get_by_role("button", name="Run this period")).to_be_enabled()


def test_locked_period_cannot_be_reopened(page: Page, airflow: Standalone, staged: str) -> None:
    open_evidence(page, airflow)
    said = confirm(page, "Lock", "audited")
    assert "cannot be reopened" in said
    evidence = page.get_by_test_id("evidence")
    expect(evidence).to_contain_text("A locked period never changes again")
    for button in ("Close", "Reopen", "Lock"):
        expect(evidence.get_by_role("button", name=button, exact=True)).to_have_count(0)


def test_refusal_discards_what_waits(page: Page, airflow: Standalone) -> None:
    run_id, _ = ask(airflow, "2026-04", "ann")
    open_evidence(page, airflow, period="2026-04")
    said = confirm(page, "Refuse", "the south is missing")
    assert "is discarded" in said
    expect(page.get_by_role("status")).to_contain_text("is refused")
    assert airflow.wait_for_run(DAG, run_id) in DONE
    assert "period=2026-04" not in list_published(airflow)
    evidence = open_evidence(page, airflow, period="2026-04")
    expect(evidence).to_contain_text("the south is missing")
    expect(evidence.get_by_role("button", name="Approve")).to_have_count(0)


def test_override_publishes_and_its_withdrawal_stops_the_next_run(page: Page, airflow: Standalone) -> None:
    airflow.wait_for_dag(CHECKED)
    assert airflow.wait_for_run(CHECKED, airflow.trigger(CHECKED, PERIOD)) == "failed"

    def open_checked() -> Locator:
        return open_evidence(page, airflow, CHECKED, calendar="gregorian")

    expect(open_checked()).to_contain_text("SUM(amount) is 0.01, expected 0")
    said = confirm(page, "Override", "the cent is known")
    assert "no longer stops runs" in said
    expect(page.get_by_test_id("evidence")).to_contain_text("the cent is known")

    assert run_from_the_page(page, airflow) == "success"
    expect(open_checked()).to_contain_text("overridden")
    said = confirm(page, "Withdraw override", "the cent is found", confirmed_by="Withdraw")
    assert "stops runs" in said

    assert run_from_the_page(page, airflow) == "failed"
    expect(open_checked()).to_contain_text("Latest run, which is not published")


def run_from_the_page(page: Page, airflow: Standalone) -> str:
    """Run the checked project again, and return how that ends."""
    known = {run["dag_run_id"] for run in airflow.list_runs(CHECKED)}
    confirm(page, "Run this period", "with what is decided", confirmed_by="Run")
    (started,) = {run["dag_run_id"] for run in airflow.list_runs(CHECKED)} - known
    return airflow.wait_for_run(CHECKED, started)

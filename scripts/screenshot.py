"""Takes the pictures of docs/images from a running `make ui`.

Needs Debian's `chromium`, and Pillow, which the project itself does not: `.venv/bin/uv pip install pillow`, then
`.venv/bin/python scripts/screenshot.py [http://localhost:8080]`. It closes January and adds an invoice to February, so
that the board has something to tell.
"""

# ruff: noqa: T201

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from demo_airflow import LOGIN
from PIL import Image
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
CHROMIUM = shutil.which("chromium")
LEDGER = IMAGES.parents[1] / "demo" / "project" / "data" / "fx_close" / "transactions" / "2026-02.csv"
LATE_INVOICE = "JE-0099,1,2026-02-27,4000,CC20,GBP,-120.50,Invoice that came late\n"
DOCUMENTATION = "[role=dialog]:has-text('Dag Documentation')"
SIZE = {"width": 1480, "height": 580}


def main(address: str) -> None:
    """Log in as `make ui` says, and take each picture."""
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        log_in(page, address)
        show_runs(page, address)
        take(page, "periods")
        add_late_invoice()
        page.set_viewport_size({"width": 1280, "height": 860})
        close_january(page, address)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            show_board(page, address)
            take(page, f"board-{scheme}")
        page.emulate_media(color_scheme="light")
        show_documentation(page, address)
        take(page, "dag-docs", DOCUMENTATION)
        browser.close()


def show_runs(page: Page, address: str) -> None:
    """Open the grid and the list of runs, with the column of their periods."""
    page.goto(f"{address}/dags/fx-close/runs")
    page.wait_for_load_state("networkidle")
    for column in ("Partition Key", "Triggering User", "Dag Version(s)", "Conf", "Run After"):
        page.click("button[aria-label='Filter table columns']")
        page.locator("[role=menu]:visible").get_by_text(column, exact=True).click()
        page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    page.wait_for_timeout(1000)


def add_late_invoice() -> None:
    """Let a file have a row that the published run has not read."""
    known = LEDGER.read_text(encoding="utf-8")
    if LATE_INVOICE not in known:
        LEDGER.write_text(known + LATE_INVOICE, encoding="utf-8")


def close_january(page: Page, address: str) -> None:
    """Close a month as its controller does, unless that was done before."""
    open_evidence(page, address, "2026-01")
    evidence = page.get_by_test_id("evidence")
    if evidence.get_by_role("button", name="Reopen").is_visible():
        return
    evidence.get_by_role("button", name="Close", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("Books agree with the bank")
    dialog.get_by_role("button", name="Close", exact=True).click()
    evidence.get_by_role("button", name="Reopen").wait_for()


def show_board(page: Page, address: str) -> None:
    """Open the matrix of projects and periods, with the evidence of a month that is stale."""
    # Files are looked at again after some seconds.
    page.wait_for_timeout(16_000)
    open_evidence(page, address, "2026-02")
    # The evidence was brought into view; the picture begins with the matrix.
    page.evaluate("document.querySelectorAll('*').forEach(part => { part.scrollTop = 0 })")
    page.mouse.move(0, 0)
    page.wait_for_timeout(1000)


def open_evidence(page: Page, address: str, period: str) -> None:
    """Open the matrix and in it a period of the close."""
    page.goto(f"{address}/plugin/periods?year=2026")
    page.get_by_role("button", name=re.compile(f"^fx-close, {period}:")).click()
    page.get_by_test_id("evidence").wait_for()


def show_documentation(page: Page, address: str) -> None:
    """Open what the DAG says of its project."""
    page.goto(f"{address}/dags/fx-close")
    page.wait_for_load_state("networkidle")
    page.click("button[aria-label='Dag Docs']")
    page.wait_for_timeout(3000)
    box = page.locator(DOCUMENTATION).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] - 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 250, box["y"] + box["height"] + 90)
    page.mouse.up()
    page.wait_for_timeout(500)


def log_in(page: Page, address: str) -> None:
    """Fill the login form."""
    page.goto(address)
    page.fill("input[name=username]", LOGIN[0])
    page.fill("input[name=password]", LOGIN[1])
    page.click("button[type=submit]")
    page.wait_for_url(f"{address}/")


def take(page: Page, name: str, part: str = "body") -> None:
    """Write a picture of a part of the page, with as few colours as it needs."""
    path = IMAGES / f"{name}.png"
    page.locator(part).screenshot(path=path)
    Image.open(path).quantize(128).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8080")

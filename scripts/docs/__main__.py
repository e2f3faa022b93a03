"""Writes the generated parts of docs/, and the job's list of functions.

With --check nothing is written; status 1 tells that something is out of date.

docs/yaml.md and docs/errors.md are generated as a whole; in other pages the text between `<!-- begin NAME -->` and
`<!-- end NAME -->` is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import check_examples
import errors
import examples
import functions
import reference

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"(<!-- begin (?P<name>[a-z0-9-]+) -->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)


def main(arguments: list[str]) -> int:
    """Write or check, and say what changed."""
    stale = [path for path, text in make_pages().items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        print(f"{'out of date' if '--check' in arguments else 'written'}: {path.relative_to(ROOT)}")  # noqa: T201
        if "--check" not in arguments:
            path.write_text(make_pages()[path], encoding="utf-8")
    return 1 if stale and "--check" in arguments else 0


def make_pages() -> dict[Path, str]:
    """Return every file that is generated or has a generated part, as it should be."""
    pages = {DOCS / "yaml.md": reference.make_page(), DOCS / "errors.md": errors.make_page()}
    pages[DOCS / "expressions.md"] = fill(DOCS / "expressions.md", functions.make_block)
    pages[DOCS / "operations.md"] = fill(DOCS / "operations.md", examples.make_block)
    pages[DOCS / "cookbook.md"] = fill(DOCS / "cookbook.md", examples.make_recipe)
    pages[DOCS / "checks.md"] = fill(DOCS / "checks.md", check_examples.make_block)
    pages[ROOT / "spark_jobs" / "contract" / "callable_words.py"] = functions.make_job_module()
    return pages


def fill(page: Path, make_block: Callable[[str], str]) -> str:
    """Return a page with its generated blocks filled in."""
    text = page.read_text("utf-8")
    return BLOCK.sub(lambda found: f"{found[1]}{make_block(found['name'])}\n{found[3]}", text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

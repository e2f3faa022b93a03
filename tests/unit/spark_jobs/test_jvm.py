import re
from pathlib import Path

import spark_jobs

PRIVATE = re.compile(r"\._(jvm|jdf|jsc|jsparkSession|gateway)\b|\bsparkContext\b")


def test_private_members_of_pyspark_are_used_in_one_module():
    folder = Path(spark_jobs.__file__).parent
    found = {path.relative_to(folder) for path in folder.rglob("*.py") if PRIVATE.search(path.read_text("utf-8"))}
    assert found == {Path("spark/jvm.py")}

"""From the locations of a table to one frame with the table's columns.

What a source lacks of the system columns stays away here; `spark_jobs.rows.row_ids` and the executor add them for the
working dataset. All that does not fit is reported at once.
"""

from spark_jobs.sources.loader import LoadedTable, load_table, refuse_replaced_files, report_sources
from spark_jobs.sources.opening import SourceContext
from spark_jobs.sources.parallel import find_loaded_as, load_tables
from spark_jobs.sources.raw_rows import Credentials

__all__ = [
    "Credentials",
    "LoadedTable",
    "SourceContext",
    "find_loaded_as",
    "load_table",
    "load_tables",
    "refuse_replaced_files",
    "report_sources",
]

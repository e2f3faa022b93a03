"""Words that may come before an opening bracket; `make docs` writes them from the functions' table."""

CALLABLE = frozenset({
    "abs", "add_months", "and", "array", "between", "bround", "case", "cast", "ceil", "coalesce", "concat",
    "contains", "count", "date_from_unix_date", "datediff", "day", "decimal", "distinct", "div", "else", "endswith",
    "floor", "greatest", "hex", "if", "in", "instr", "is", "lag", "last_day", "least", "left", "length", "like",
    "lower", "lpad", "max", "min", "month", "named_struct", "not", "null", "nullif", "or", "over", "quarter",
    "rank", "regexp_replace", "replace", "right", "row_number", "rpad", "rtrim", "startswith", "substring", "sum",
    "then", "timestamp_micros", "transform", "translate", "trim", "trunc", "try_cast", "try_divide", "try_mod",
    "unhex", "unix_date", "unix_micros", "upper", "weekday", "when", "year",
})  # fmt: skip

"""Words that may stand before an opening bracket; `make docs` writes them from the functions' table."""

CALLABLE = frozenset({
    "abs", "and", "array", "between", "case", "cast", "ceil", "coalesce", "concat", "contains", "count",
    "date_from_unix_date", "datediff", "day", "decimal", "div", "else", "floor", "greatest", "hex", "if", "in",
    "is", "least", "left", "length", "lower", "max", "min", "month", "named_struct", "not", "null", "nullif", "or",
    "replace", "right", "rtrim", "sum", "then", "timestamp_micros", "transform", "translate", "trim", "try_divide",
    "try_mod", "unhex", "unix_date", "unix_micros", "upper", "when", "year",
})  # fmt: skip

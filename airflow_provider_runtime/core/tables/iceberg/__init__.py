"""Iceberg tables through pyiceberg, with any catalog that it knows."""

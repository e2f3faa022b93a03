"""What works on rows: the working dataset, joins, operations."""

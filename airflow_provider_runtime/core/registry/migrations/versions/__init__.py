"""One module for each state of the schema."""

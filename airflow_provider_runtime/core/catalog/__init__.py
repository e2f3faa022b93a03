"""Definitions: YAML files to a checked catalog."""

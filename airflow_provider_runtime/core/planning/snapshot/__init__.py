"""The run snapshot: compiled, explained, stored."""

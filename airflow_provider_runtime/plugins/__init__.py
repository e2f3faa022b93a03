"""Plugins: what the scheduler and the API server have to know."""

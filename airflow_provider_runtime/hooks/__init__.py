"""Hooks: where the registry, the snapshots and the slices of a deployment are."""

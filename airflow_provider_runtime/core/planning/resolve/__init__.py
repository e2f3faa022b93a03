"""Resolving: resolvers, templates, locations and versions."""

"""Migrations of the registry's schema."""

"""Expr."""

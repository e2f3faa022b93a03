"""A second reading of the language and the operations in plain Python, to compare the engine with.

Nothing here imports the package: expressions are drawn as trees, written out as text for the engine, and evaluated here
on Python's own decimals.
"""

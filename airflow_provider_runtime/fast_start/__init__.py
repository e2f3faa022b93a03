"""A quicker start of Spark on this machine: fewer jars, and Java's archive of classes that are loaded already.

Nothing here concerns clusters, and nothing here is ever a reason to fail: what cannot be done is left out.
"""

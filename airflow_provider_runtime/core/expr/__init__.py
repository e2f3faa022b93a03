"""The expression language: text to tree, tree to types, types to Spark SQL."""

"""Delta tables through deltalake."""

"""Files as tables: rows, columns and pairs in, results out."""

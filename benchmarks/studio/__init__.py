"""The studio in a real browser: how soon an answer is seen, and how large the data may be."""

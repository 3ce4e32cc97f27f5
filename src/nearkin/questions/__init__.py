"""Which pairs to ask a person about, and learning by asking."""

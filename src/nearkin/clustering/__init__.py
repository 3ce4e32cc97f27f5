"""Groups of rows that keep to pairs, and how many there are."""

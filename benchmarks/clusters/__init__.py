"""Groups from pairs: how well they fit classes that nobody told of."""

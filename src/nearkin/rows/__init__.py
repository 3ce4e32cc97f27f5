"""Data wherever they are: in memory, sparse, on a GPU, in files or on a cluster."""

"""Where rows can be put: kernels, landmarks, graphs, neighbours, and the maps into them."""

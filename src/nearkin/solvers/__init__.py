"""Pure mathematics: LogDet projections, stress, margins, families of kernels, Gaussians."""

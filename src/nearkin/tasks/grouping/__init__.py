"""Parts of clustering: who must be together, and groups that keep to it."""

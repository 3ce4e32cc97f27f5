"""Tasks: what a few pairs help to do, beside learning a distance."""

"""Nearest rows and duplicates by a learned metric."""

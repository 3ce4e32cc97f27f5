"""Learners: one file for each method."""

"""What is known to be alike or different, and what follows from it."""

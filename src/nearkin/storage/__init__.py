"""What is written is whole, checked and holds no code."""

"""Commands: a file for each, with a function whose signature typer reads."""

"""Which records are the same thing: candidates, comparisons by column, groups and links."""

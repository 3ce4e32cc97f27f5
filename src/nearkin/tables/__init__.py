"""Tables as people have them: words, dates, codes and gaps, column by column."""

"""The map of the studio: how much of the neighbourhoods it shows, and how soon."""

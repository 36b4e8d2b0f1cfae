"""A plan: its page and its tables on the terminal."""

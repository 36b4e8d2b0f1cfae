"""A release: its files, its page, its tables on the terminal."""

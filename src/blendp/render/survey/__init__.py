"""A survey: its files, its pages, its tables on the terminal."""

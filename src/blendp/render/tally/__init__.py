"""Counted reports: the clients' own estimates as files."""

"""``python -m blendp``."""

from blendp.cli import command

if __name__ == "__main__":
    command()

"""``python -m blendp``."""

from blendp.cli import main

if __name__ == "__main__":
    main()

"""``python -m costwise`` is the command ``costwise``."""

from costwise.cli import main

if __name__ == "__main__":
    main()

"""``dpaudit`` and ``python -m dpaudit``: the command line, or a line why it cannot start."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; what keeps it from starting has no status of a verdict."""
    try:
        from dpaudit.cli.main import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BaseException as error:
        print(
            f"error: dpaudit cannot start, {type(error).__name__}: {error}; install it again, or "
            "rename what has the name of a library in this folder",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    run()


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python puts the folder it stands in first: nothing there is to take a library's place.
        sys.path.append(sys.path.pop(0))
    main()

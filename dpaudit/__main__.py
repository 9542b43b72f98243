"""``dpaudit`` and ``python -m dpaudit``: the command line, or a line why it cannot start."""

from __future__ import annotations

import sys
import time


def main() -> None:
    """Run the command line; a failure to start never ends with the status of a verdict."""
    # Taken before anything else is imported: the imports are part of what a user waits for.
    began = time.monotonic()
    try:
        from dpaudit.errors import require_posix

        require_posix("dpaudit")
        from dpaudit.cli.main import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    # Status 1 means that a claim is refuted, and is what Python itself ends with after a
    # traceback.
    except BaseException as error:
        print(f"error: {_format_start_failure(error)}", file=sys.stderr)
        raise SystemExit(2) from None
    run(began=began)


def _format_start_failure(error: BaseException) -> str:
    kind = type(error).__name__
    if kind == "UnsupportedSystem":  # by its name, as its module may be what cannot be imported
        return str(error)
    return (
        f"dpaudit cannot start, {kind}: {error}; install it again, or rename what has the name of "
        "a library in this folder"
    )


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python puts the folder it stands in first: nothing there is to take a library's place.
        sys.path.append(sys.path.pop(0))
    main()

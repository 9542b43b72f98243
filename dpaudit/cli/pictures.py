"""The option ``--picture``: the figure of a result, as ``figure`` draws it in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpaudit.cli.options import OUTPUT, number_option
from dpaudit.errors import InvalidArgument

if TYPE_CHECKING:
    from dpaudit.report.schema import Result

Picture = Annotated[
    str | None,
    typer.Option(
        "--picture",
        metavar="FILE",
        help="Draw the result into a file that ends in .pdf, .svg or .png.",
        rich_help_panel=OUTPUT,
    ),
]
PictureWidth = Annotated[
    float | None,
    number_option(
        "--picture-width", "The width of --picture in inches, such as 3.3; at least 2.", OUTPUT
    ),
]


@dataclass(frozen=True)
class FigureFile:
    """A file that a figure is drawn into, and its width in inches; None for its natural one."""

    file: Path
    width: float | None = None

    def draw(self, found: Any) -> None:
        """Write the figure of a result, a replay, an account or views, whole or not at all.

        Raises
        ------
        DataError
            The file cannot be written.
        """
        found.figure(self.file, width=self.width)

    def draw_results(self, results: Sequence[Result]) -> None:
        """Write the figure of one result, or the overview of several.

        Raises
        ------
        DataError
            The file cannot be written.
        """
        from dpaudit.report.charts import draw_pictures
        from dpaudit.report.figures import show_overview

        if len(results) == 1:
            self.draw(results[0])
        elif results:
            private = any(one.holds_records for one in results)
            shown = [show_overview(results)]
            draw_pictures(shown, self.file, width=self.width, private=private)


def drawing_of(file: str | None, width: float | None) -> FigureFile | None:
    """Return the file of ``--picture`` and ``--picture-width``; its folder is made.

    Raises
    ------
    InvalidArgument
        The file ends otherwise, the width is below 2 inches, or is there without a file.
    DataError
        No file can be written there.

    Examples
    --------
    >>> drawing_of("one.pdf", 3.3)
    FigureFile(file=PosixPath('one.pdf'), width=3.3)
    """
    if file is None:
        if width is not None:
            raise InvalidArgument("--picture-width", width, "a --picture beside it")
        return None
    from dpaudit.files import prepare_directory
    from dpaudit.report.charts import require_format, require_width

    require_format("--picture", file)
    if width is not None:
        require_width("--picture-width", width)
    # The folder is made before the audit, so that a name that cannot be written fails at once
    # and not after an hour.
    prepare_directory(Path(file).parent)
    return FigureFile(Path(file), width)

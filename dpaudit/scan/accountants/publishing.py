"""The public part of an accountant's scan, in the gallery."""

from __future__ import annotations

import json
import re
from pathlib import Path

from dpaudit.escaping import json_escaped, one_line
from dpaudit.files import write_files
from dpaudit.formats import add_schema
from dpaudit.scan.accountants.document import AccountantScan
from dpaudit.scan.accountants.page import NAME, public_markdown
from dpaudit.scan.publication.gallery import write_index


def publish_accountant_scan(result: AccountantScan, gallery: Path) -> Path:
    """Write the public part of a scan into a gallery, and the index; return the release's page.

    Raises
    ------
    DataError
        A file cannot be read or written.
    """
    public = result.published()
    name = f"{public.accountant}-{public.version}-accountant"
    folder = gallery / re.sub(r"[^A-Za-z0-9._+-]+", "-", one_line(name))
    content = add_schema(f"published-{NAME}", json.loads(public.model_dump_json()))
    text = json_escaped(json.dumps(content, indent=2, allow_nan=False)) + "\n"
    page = folder / f"{NAME}.md"
    lines = public_markdown(public)
    write_files(folder, {folder / f"{NAME}.json": text.encode(), page: lines.encode()})
    write_index(gallery)
    return page

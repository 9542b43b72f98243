"""Audits written down: files of audits, baselines, first files, and where they point in sources."""

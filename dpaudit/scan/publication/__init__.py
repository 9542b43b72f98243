"""The gallery, drafts of issues, and the part of a scan that is public."""

"""From a result to a document a stranger can read and re-check: JSON, Markdown, HTML."""

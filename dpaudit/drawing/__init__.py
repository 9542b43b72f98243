"""Pictures: the style they share, panels, and the charts of reports."""

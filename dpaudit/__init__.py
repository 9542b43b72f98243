"""dpaudit audits differential-privacy claims: claimed, proved and measured, side by side."""

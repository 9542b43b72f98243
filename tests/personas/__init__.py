"""Four people who begin with dpaudit: what docs/first-hour.md shows is typed as it stands."""

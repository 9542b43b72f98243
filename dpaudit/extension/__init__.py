"""What a package of its own writes against: claims, attacks, figures, releases, packages."""

"""The interface for a package of one's own: claims, attacks, figures, releases, packages."""

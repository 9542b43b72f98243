"""The documentation: what its pages show is what runs, and the site is as good as it looks."""

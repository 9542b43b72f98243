"""The environments of packages, and the processes there that call a package's functions."""

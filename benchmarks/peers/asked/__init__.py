"""Files that run in other packages' environments; each knows one package alone."""

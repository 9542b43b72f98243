"""Claims of the two papers on ADMM sharing, one folder for each paper."""

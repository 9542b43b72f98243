"""What the two papers on ADMM sharing claim, a folder a paper."""

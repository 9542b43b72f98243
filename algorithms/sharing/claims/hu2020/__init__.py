"""Claims of Hu et al., 2020, about the privacy of ADMM sharing."""

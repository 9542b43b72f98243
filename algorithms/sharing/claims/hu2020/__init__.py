"""What Hu et al. claim in 2020 about the privacy of ADMM sharing."""

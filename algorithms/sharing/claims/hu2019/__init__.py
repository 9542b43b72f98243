"""What Hu et al. claim in 2019 about the convergence of ADMM sharing."""

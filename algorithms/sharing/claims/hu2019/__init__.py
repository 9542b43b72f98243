"""Claims of Hu et al., 2019, about the convergence of ADMM sharing."""

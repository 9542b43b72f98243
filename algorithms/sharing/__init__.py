"""ADMM sharing over vertically split features, and FDML (Hu et al. 2019 and 2020)."""

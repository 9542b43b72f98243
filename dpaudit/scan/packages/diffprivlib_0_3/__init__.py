"""diffprivlib 0.3: the models of the Wishart mechanism, which later releases replaced."""

"""diffprivlib: mechanisms, tools and models."""

"""SmartNoise SQL: queries answered with noise, their mechanisms, and bounds estimated from data."""

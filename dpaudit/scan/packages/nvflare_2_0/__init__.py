"""NVFlare of 2022."""

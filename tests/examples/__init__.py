"""Examples that are pages: what they print is what their pages show."""

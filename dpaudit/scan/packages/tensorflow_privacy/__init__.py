"""TensorFlow Privacy: queries of clipped records with noise."""

"""synthcity: PATE-GAN, its noisy labels and what it takes from the data."""

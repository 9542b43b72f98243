"""synthcity: PATE-GAN, its noisy labels and the facts that it takes from the data."""

"""SmartNoise Synth: transformers of tables, synthesisers, and a private covariance."""

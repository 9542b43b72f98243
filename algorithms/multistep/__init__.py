"""Multi-step DP-ADMM (Huang & Gong)."""

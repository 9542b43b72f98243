"""White-box audits of mechanisms whose exact epsilon is known."""

"""Reference implementations of private distributed learning, batched over trials."""

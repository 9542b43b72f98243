"""Command lines and files that are made strange at random: whatever happens is on the page."""

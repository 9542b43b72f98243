"""From counts and losses to certified bounds on epsilon."""

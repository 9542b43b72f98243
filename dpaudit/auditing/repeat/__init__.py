"""What it takes to run an audit again: plan, key in the store, certificate."""

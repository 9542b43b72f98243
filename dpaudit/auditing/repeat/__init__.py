"""The means to run an audit again: plan, key in the store, certificate."""

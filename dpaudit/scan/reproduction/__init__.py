"""The smallest script that shows a finding again."""

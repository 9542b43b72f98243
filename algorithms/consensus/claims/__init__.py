"""What zhang2018 claims about the algorithm; attacks have its claims on attackers."""

"""Claims of zhang2018 about the algorithm; its claims about attackers are with the attacks."""

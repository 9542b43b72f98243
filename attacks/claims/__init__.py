"""Published claims about what an attacker can find out: the evidence is an attack that is run."""

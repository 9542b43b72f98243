"""How far values of a program move between neighbours: rules, and what looks deeper."""

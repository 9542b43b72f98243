"""Claims of zhang2018 that are the success of this attack."""

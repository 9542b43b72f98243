"""Other people's code as a mechanism: how it is called, isolated, told apart."""

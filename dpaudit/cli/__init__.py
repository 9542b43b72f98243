"""The command line: a file a command, which imports what it needs when it runs."""

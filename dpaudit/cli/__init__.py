"""The command line: a file a command, which imports its modules when it runs."""

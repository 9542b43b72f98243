"""What decides the statements of hu2019, in exact arithmetic."""

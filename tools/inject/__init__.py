"""Making one worker of a real run slow in a known way, and reading what the report says of it."""

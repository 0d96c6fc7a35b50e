"""What `interlude repro` runs: scenarios, read from files, played on this machine and judged by their own records."""

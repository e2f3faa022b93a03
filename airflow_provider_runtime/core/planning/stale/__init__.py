"""What a run was and read, against what is there now: which periods are stale, and why."""

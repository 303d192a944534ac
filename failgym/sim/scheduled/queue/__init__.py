"""Who waits, in which order, and who is let go first."""

"""Where the records of running episodes lie, and how they grow."""

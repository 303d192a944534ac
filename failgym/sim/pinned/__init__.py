"""The pinned world: each task runs on the machine where it ran in the record."""

"""The pinned world: each task as recorded, independent of all others."""

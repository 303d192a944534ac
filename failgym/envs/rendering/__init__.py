"""Pictures of episodes, and files that show them."""

"""What the engines of all worlds do alike."""

"""Learned agents. They need stable-baselines3 and torch: `pip install failgym[agents]`."""

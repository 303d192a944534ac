"""`UserHistory` (Kumar et al., DSN 2020): what a user's next job will use."""

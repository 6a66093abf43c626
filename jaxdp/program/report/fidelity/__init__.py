"""The page that compares a made table with the private one: for its owner alone."""

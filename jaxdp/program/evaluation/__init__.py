"""What made images are worth: classifiers trained on them, distances, copies."""

"""What was released, in the forms that other programs read."""

"""What all estimators share."""

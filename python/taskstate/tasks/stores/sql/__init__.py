"""What the task stores over SQL have in common."""

"""What runs in processes of its own, for the tests of durable tasks."""

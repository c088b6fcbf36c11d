"""Durable tasks against their peers, on servers and files of their own: `python -m benches.tasks`."""

"""How fast the rooms are, as ratios between things that are timed in the same run."""

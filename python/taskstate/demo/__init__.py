"""The main job on real documents: a supplier review that survives the death of its own process."""

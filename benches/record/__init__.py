"""The speed of `taskstate.record`."""

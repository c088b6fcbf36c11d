"""The speed of `taskstate.core`."""

"""Work under kill -9, and what must hold of it afterwards."""

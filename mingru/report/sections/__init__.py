"""The parts of a family's report."""

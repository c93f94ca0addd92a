"""What runs inside the measured processes. A module here is imported in one of them, never by the benchmark's own."""

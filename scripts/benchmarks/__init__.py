"""What scripts/bench.py measures and how: suites of rows, workloads of the processes that are measured, pairs, table and plots.

This package's own process computes nothing: it starts one process per side and asks them for times in turn.
"""

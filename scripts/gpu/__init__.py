"""What scripts/gpu_check.py checks and measures. Needs torch and triton, nothing else."""

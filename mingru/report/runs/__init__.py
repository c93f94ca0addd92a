"""Where started runs come from: local folders, the W&B service, W&B's offline files. All three give the same table."""

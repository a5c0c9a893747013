"""The gate: refuses in review what would hang, split, bypass its quota or never be admitted on the cluster."""

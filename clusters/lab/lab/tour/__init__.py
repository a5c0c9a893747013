"""The tour of the layer below Trainer: JobSet and Kueue on a real cluster, a step at a time."""

"""The lab: a real one-node Kubernetes with Trainer, JobSet, Kueue and Volcano, in namespaces of its own."""

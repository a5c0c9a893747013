"""Trainer's own code, against which the gate's resolve is held."""

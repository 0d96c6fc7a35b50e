"""Real coordinators and workers, and what breaks them. Started by tools/fault_matrix.py."""

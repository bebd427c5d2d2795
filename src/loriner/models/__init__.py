"""Language models behind one seam, and the wrappers that count and remember."""

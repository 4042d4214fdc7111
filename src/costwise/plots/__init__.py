"""Drawings of fitted models; matplotlib is imported when something is drawn."""

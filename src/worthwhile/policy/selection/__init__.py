"""Policies that choose what to buy next."""

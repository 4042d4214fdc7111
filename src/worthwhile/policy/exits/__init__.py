"""Policies that leave a staged model early."""

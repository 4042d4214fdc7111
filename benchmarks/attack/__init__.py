"""Long modes of the attackers in ``tests/attack``: hours, in pieces that can be resumed."""

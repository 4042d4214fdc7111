"""What single parts do: all methods side by side, peers, budgets kept, ranking, dynamic selection."""

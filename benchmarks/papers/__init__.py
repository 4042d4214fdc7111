"""One script per paper: its experiments with our methods, and the page with both figures."""

"""The methods, one file each; every file holds only what is that paper's own."""

"""Obviously correct twins of the kernels, written from the papers: slow, plain, one module per subject."""

"""Time and memory of training, prediction and the command line, beside LightGBM and scikit-learn."""

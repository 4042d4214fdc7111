"""Models in the hands of other tools.

``mlflow`` saves and logs models as MLflow's pyfunc, with ``budget`` as a parameter of each prediction.
"""

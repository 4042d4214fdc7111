"""What is collected: modules of integrations only where the library that they serve is installed."""

import importlib.util

SERVED = {"mlflow": "src/worthwhile/integrations/mlflow.py"}

collect_ignore = [path for library, path in SERVED.items() if not importlib.util.find_spec(library)]

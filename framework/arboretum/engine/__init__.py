"""Who calls whom?  Fit, run, verify, budget; knows no Hydra, no MLflow and no plugin."""

"""First-party plugin: adaptive search in place of every combination of a sweep, by Optuna."""

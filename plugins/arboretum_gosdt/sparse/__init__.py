"""The sparse search: least loss + λ · leaves, features as lanes (Lin et al. 2020, and beyond)."""

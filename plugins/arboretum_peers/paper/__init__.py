"""Optima that others print, proven again or refuted: ``arboretum reproduce records``."""

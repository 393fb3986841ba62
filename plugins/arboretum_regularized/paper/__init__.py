"""The study that the paper reports: protocol, published numbers, verdicts, figures; no method imports it."""

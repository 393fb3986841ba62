"""Policy trees: which action for whom, learnt from what came of the actions that were taken."""

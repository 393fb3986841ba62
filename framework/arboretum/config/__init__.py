"""What did the user ask?  The only place, with arboretum.cli, that imports Hydra."""

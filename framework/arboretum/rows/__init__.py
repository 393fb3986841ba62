"""Where do the rows of one growth lie?  What row stores are made of."""

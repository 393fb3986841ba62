"""Trees whose tests send a row both ways, in part."""

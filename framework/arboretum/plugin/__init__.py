"""Who is installed?  Discovery and the registry: objects with a life-cycle, passed down."""

"""What is cut back once a tree is grown."""

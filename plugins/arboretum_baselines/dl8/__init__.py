"""DL8 and DL8.5: trees from itemsets."""

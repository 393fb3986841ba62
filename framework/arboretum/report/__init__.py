"""How is it shown?  Text, SVG and PNG, Graphviz, tables, exports."""

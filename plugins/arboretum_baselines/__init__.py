"""Systems that sparse and depth-limited optimal trees are compared with: GOSDT as printed,
PyGOSDT, OSDT, DL8, DL8.5 and BinOCT.
"""

"""Lin, Zhong, Hu, Rudin & Seltzer: trees of proven least loss + λ · leaves, under limits, over
all thresholds.
"""

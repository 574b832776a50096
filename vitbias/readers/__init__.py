"""Where a description or weights come from: readers know nothing of what is asked of them.

catalogue     published configurations, by name
timm_weights  weights under timm's and transformers' names, as those of the NumPy transformer
"""

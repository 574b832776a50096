"""Where a description comes from: readers make an ``Architecture`` and know nothing of what is asked of it.

catalogue    published configurations, by name
"""

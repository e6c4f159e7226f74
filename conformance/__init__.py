"""Meridian's surface, asked by others' programs: the protocol's own conformance suite and the clients that people use.

`make conformance` runs it; a plugin is served by a real `meridian serve`, and each check is a line that says pass or fail.
"""

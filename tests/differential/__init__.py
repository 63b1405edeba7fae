"""Seeded random calls of the attention operators, with the reference's results.

`python -m tests.differential ENGINE_PROGRAM` writes them and runs them: see __main__.py.
"""

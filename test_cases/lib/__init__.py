"""What the generate.py scripts of the test cases share."""

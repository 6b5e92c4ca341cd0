"""Runs a checkout of the public Array-API test suite against arraygrad's namespaces: `python -m conformance`."""

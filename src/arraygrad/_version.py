"""The version, in this one place: the package metadata and `arraygrad.__version__` both read it. Imports nothing."""

__version__ = "0.1.0"

"""Commands: `python -m arraygrad` (report, demo, check) and `python -m arraygrad.tools.generate` (stubs and pages).

May import: everything; nothing imports this. Begin with `command_line.py`.
"""

"""differences"""

DOCUMENTED = {}
LACKING = {"torch": {}, "jax": {}}

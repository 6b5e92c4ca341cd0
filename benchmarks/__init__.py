"""Speed of arraygrad over hand-written NumPy gradients: `python -m benchmarks`. See docs/performance.md."""

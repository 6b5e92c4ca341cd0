"""The engine: nodes, tasks, queues and threads. It knows no array and no operation.

May import: nothing of the other rooms. Begin with `node.pyx`, then `engine.pyx` (the loop) and `evaluate.pyx`.
"""

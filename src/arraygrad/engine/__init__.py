"""The engine: nodes, tasks, queues and threads. It knows no array and no operation.

May import: nothing of the other rooms. Begin with `node.pyx`, then `engine.pyx` (a run),
`thread_main.pyx` (the loop of every thread) and `evaluate.pyx` (one node).
"""

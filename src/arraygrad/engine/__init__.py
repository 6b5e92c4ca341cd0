"""The engine: nodes, tasks, queues and threads. It knows no array and no operation. Imports nothing."""

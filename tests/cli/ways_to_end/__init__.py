"""Every way to end a run, with its status and the line it ends with (docs/exit-statuses.md).

A way runs in this process wherever a process of its own adds nothing: standard output is then a
real file, pipe or device all the same.
"""

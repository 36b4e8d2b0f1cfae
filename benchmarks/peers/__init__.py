"""Other libraries doing the same job: each in an environment of its own, in a process of its own, on the same file."""

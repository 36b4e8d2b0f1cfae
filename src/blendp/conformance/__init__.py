"""One truth in several languages: calls that every client answers alike, and the vectors that hold them to it.

A *call* is one thing that a client computes: a document that it reads, a report that it draws. A *vector* is a call
with its input and what comes out, or the reason for which the input is refused. docs/specification.md says in words
what the vectors say in bytes.
"""

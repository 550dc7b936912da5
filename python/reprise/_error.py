from __future__ import annotations


class Error(Exception):
    """What Reprise could not do: one line that says where, what was seen and what was wanted.

    `code` is stable, so that code may branch on it: invalid_argument, not_found, io, bad_file, parse, verify, infer,
    unsupported, limit, cancelled, runtime or internal.
    """

    code: str

    def __init__(self, message: str, code: str = "runtime") -> None:
        super().__init__(message)
        self.code = code


Error.__module__ = "reprise"

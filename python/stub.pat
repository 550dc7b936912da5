# What nanobind's stub generator cannot know.

# The comparisons write instructions.
^reprise._reprise.Value.__eq__$:
    def __eq__(self, other: Value | complex, /) -> Value: ...  # type: ignore[override]

^reprise._reprise.Value.__ne__$:
    def __ne__(self, other: Value | complex, /) -> Value: ...  # type: ignore[override]

^reprise._reprise.Value.__hash__$:
    __hash__: None  # type: ignore[assignment]

^reprise._reprise.__suffix__$:
    __version__: str

# Inside the class, "numpy" is the method.
^reprise._reprise.Array.numpy$:
    \from numpy.typing import NDArray as NDArray
    def numpy(self) -> NDArray[Any]:
        \doc

^reprise._reprise.Array.__array__$:
    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray[Any]: ...

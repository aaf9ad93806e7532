"""What all blocks share: their state is plain arrays, for pickle, copies and files."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..io import archive

Array = NDArray[np.float64]
State = dict[str, Any]

_BLOCKS: dict[str, type[Part]] = {}


class Part:
    """Base class of the blocks.

    `_settings` are what the constructor needs, as JSON has it; `_arrays` the rest of the state.
    """

    _core: Any
    _name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._name = cls.__name__
        _BLOCKS.setdefault(cls._name, cls)

    def _settings(self) -> State:
        raise NotImplementedError

    def _arrays(self) -> dict[str, Array]:
        raise NotImplementedError

    def _restore(self, settings: State, arrays: dict[str, Array]) -> None:
        raise NotImplementedError

    def __getstate__(self) -> State:
        return {"version": 1, "settings": self._settings(), "arrays": self._arrays()}

    def __setstate__(self, state: State) -> None:
        if state.get("version") != 1:
            raise ValueError(f"a {self._name} of version {state.get('version')!r}; this kernsift reads version 1")
        self._restore(state["settings"], state["arrays"])

    def copy(self) -> Self:
        """Return an independent copy.

        Examples
        --------
        >>> from kernsift.blocks import SymmetricInverse
        >>> one = SymmetricInverse(ridge=1.0, size=2)
        >>> other = one.copy()
        >>> other.update([1.0, 0.0])
        True
        >>> one.diagonal()
        array([1., 1.])
        """
        other = type(self).__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the block to a file of plain arrays, whole or not at all; `kernsift.blocks.load` reads it.

        Examples
        --------
        >>> import tempfile
        >>> from kernsift import blocks
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     blocks.SymmetricInverse(ridge=4.0, size=2).save(f"{folder}/block.npz")
        ...     blocks.load(f"{folder}/block.npz").to_dense()
        array([[0.25, 0.  ],
               [0.  , 0.25]])
        """
        state = self.__getstate__()
        header = {"block": self._name, "version": state["version"], "settings": state["settings"]}
        archive.write(path, header, state["arrays"])


def load(path: str | os.PathLike[str]) -> Any:
    """Read a block that `save` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    block
        Of the class that was saved.

    Examples
    --------
    >>> import tempfile
    >>> from kernsift import blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     blocks.Kernel("rbf", gamma=0.5).save(f"{folder}/kernel.npz")
    ...     blocks.load(f"{folder}/kernel.npz")
    Kernel('rbf', gamma=0.5)
    """
    header, arrays = archive.read(path)
    name = header.get("block")
    if name not in _BLOCKS:
        raise ValueError(f"{os.fspath(path)!r} holds no block; kernsift.load reads models")
    block: Part = _BLOCKS[name].__new__(_BLOCKS[name])
    block.__setstate__({**header, "arrays": arrays})
    return block

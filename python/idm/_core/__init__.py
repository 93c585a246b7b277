"""The compiled steps. One extension per instruction set, of which one is chosen here, once."""

from idm._core import _select

_extension, isa = _select.load()
variants = _select.built_variants()

_steps = {name: getattr(_extension, name) for name in dir(_extension) if not name.startswith("_")}
globals().update(_steps)
# Steps say that their module is the extension: without this list, stubtest would take them for imported names, and not
# miss them in the stub.
__all__ = ["isa", "variants", *_steps]

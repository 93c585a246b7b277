"""The compiled steps. One extension per instruction set, of which one is chosen here, once."""

from idm._core import _select

_extension, isa = _select.load()
variants = _select.built_variants()

globals().update({name: getattr(_extension, name) for name in dir(_extension) if not name.startswith("_")})

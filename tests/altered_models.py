"""Models whose arrays are not what they were, as after a damaged or forged pickle; run in a process of its own."""

import dataclasses
import faulthandler
import pickle

import numpy as np

from idm._neighbors import NeighborIndex
from small_models import METHODS, fitted, results

NAMES = ["differences", "affine derivatives", "derivatives", "int labels", "diffusion map", "local kernel map"]


def arrays(value, path=()):
    """Paths of all arrays in the attributes of a model, however deep."""
    if isinstance(value, np.ndarray):
        yield path
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from arrays(item, (*path, number))
    elif dataclasses.is_dataclass(value) or isinstance(value, NeighborIndex) or not path:
        for name, item in vars(value).items():
            yield from arrays(item, (*path, name))


def _get(value, path):
    for part in path:
        value = value[part] if isinstance(part, int) else getattr(value, part)
    return value


def _wrong(array):
    """The same array, negated, cut, repeated, empty, of another type or order, or with numbers out of range."""
    yield -array if array.dtype != bool else ~array
    yield array[:-1]
    yield array[:0]
    yield np.concatenate([array, array])
    yield array.T.copy()
    yield np.asfortranarray(array)[..., ::-1]
    yield array.astype(np.float32)
    yield array.astype(object)
    yield array.ravel()
    extremes = [len(array), -1, 2**62, -(2**63)] if array.dtype.kind == "i" else [np.nan, np.inf, 1e300, 5e-324]
    for extreme in extremes:
        if array.dtype.kind in "if" and array.size:
            changed = array.copy()
            changed.flat[:: max(1, array.size // 3)] = extreme
            yield changed


def altered_attributes():
    """One attribute after the other is replaced."""
    faulthandler.enable()
    n_tried = 0
    for name in ("differences", "affine derivatives", "diffusion map", "local kernel map"):
        model, X = fitted(name)
        content = pickle.dumps(model)
        for path in list(arrays(model)):
            for wrong in _wrong(_get(model, path)):
                changed = pickle.loads(content)
                holder, last = _get(changed, path[:-1]), path[-1]
                if isinstance(last, int):
                    if isinstance(holder, tuple):
                        continue
                    holder[last] = wrong
                else:
                    object.__setattr__(holder, last, wrong)
                results(changed, X[::4], METHODS)
                n_tried += 1
    print(n_tried)


def flipped_bits():
    """One bit of the data of one array is another."""
    faulthandler.enable()
    rng = np.random.default_rng(0)
    n_tried = 0
    for name in NAMES:
        model, X = fitted(name)
        content = pickle.dumps(model)
        data = [_get(model, path).tobytes("A") for path in arrays(model)]
        # Those that occur once: zeros are found outside of arrays, too.
        places = [(content.find(some), len(some)) for some in data if len(some) >= 8 and content.count(some) == 1]
        for _ in range(110):
            start, length = places[rng.integers(len(places))]
            changed = bytearray(content)
            changed[start + int(rng.integers(length))] ^= 1 << int(rng.integers(8))
            try:
                loaded = pickle.loads(bytes(changed))
            except ValueError:  # points of an index that are not finite
                loaded = None
            if loaded is not None:
                results(loaded, X[::4], METHODS)
            n_tried += 1
    print(n_tried)

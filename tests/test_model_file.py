"""Model files: the same bits come back, and nothing else does."""

import dataclasses
import hashlib
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import tracemalloc
import typing
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

import idm
from idm import _model_file, _model_rules
from idm._neighbors import NeighborIndex
from small_models import METHODS, MODELS, fitted, results

pytestmark = pytest.mark.filterwarnings(
    "ignore::idm.exceptions.NarrowKernelWarning"
)  # small models have few neighbours

KEPT_FILE = Path(__file__).parent / "data" / "radius-1.idm"


@pytest.fixture(scope="module")
def models():
    """Fitted on first use."""

    class Models(dict):
        def __missing__(self, name):
            self[name] = fitted(name)
            return self[name]

    return Models()


def assert_same(a, b, where="model"):
    """The same types, shapes, orders and bits, all the way down."""
    if isinstance(a, np.generic):  # parameters and figures come back as Python's numbers
        a = a.item()
    b = np.asarray(b) if isinstance(b, np.memmap) else b
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.flags.c_contiguous) == (b.dtype, b.shape, b.flags.c_contiguous), where
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes(), where
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for number, pair in enumerate(zip(a, b, strict=True)):
            assert_same(*pair, f"{where}[{number}]")
    elif isinstance(a, NeighborIndex):
        assert_same(a.points, b.points, where)
    elif dataclasses.is_dataclass(a) or isinstance(a, tuple(_model_file._FITTED)):
        assert set(vars(a)) == set(vars(b)), where
        for name, value in vars(a).items():
            assert_same(value, vars(b)[name], f"{where}.{name}")
    else:
        assert a == b, where


def assert_same_results(model, other, X):
    for (name, expected), (_, found) in zip(results(model, X).items(), results(other, X).items(), strict=True):
        assert_same(expected, found, name)


def saved(model, folder, name="model.idm"):
    idm.save(model, folder / name)
    return (folder / name).read_bytes()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_the_same_bits_come_back(models, name, mmap_mode, tmp_path):
    model, X = models[name]
    saved(model, tmp_path)
    loaded = idm.load(tmp_path / "model.idm", mmap_mode=mmap_mode)
    assert_same(model, loaded)
    assert_same_results(model, loaded, X)


@pytest.mark.parametrize("name", ["differences", "diffusion map", "local kernel map"])
def test_a_model_has_one_file(models, name, tmp_path):
    model, X = models[name]
    results(model, X)
    content = saved(model, tmp_path)
    assert saved(idm.load(tmp_path / "model.idm"), tmp_path, "again.idm") == content
    assert saved(pickle.loads(pickle.dumps(model)), tmp_path, "pickled.idm") == content


@pytest.mark.filterwarnings("ignore::idm.exceptions.ExtrapolationWarning")
def test_scores_and_clones_are_the_same(models, tmp_path):
    for name in ("differences", "int labels", "local kernel map"):
        model, X = models[name]
        saved(model, tmp_path)
        loaded, near = idm.load(tmp_path / "model.idm"), X[:10]
        y = model.predict(near)[::-1]
        assert model.score(near, y) == loaded.score(near, y)
        assert clone(loaded).get_params() == clone(model).get_params()


def test_what_scikit_learn_keeps_in_a_model_is_kept(models, tmp_path):
    model, _ = models["named columns"]
    model = pickle.loads(pickle.dumps(model)).set_output(transform="default")
    saved(model, tmp_path)
    loaded = idm.load(tmp_path / "model.idm")
    assert loaded.feature_names_in_.tolist() == ["x", "y\u2032"]
    assert loaded._sklearn_output_config == {"transform": "default"}
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_parameters_may_be_numpy_scalars(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = idm.DiffusionMap(np.int32(3), n_neighbors=np.int64(9), alpha=np.float64(0.5), diffusion_time=4).fit(X)
    saved(model, tmp_path)
    loaded = idm.load(tmp_path / "model.idm")
    assert_same(model, loaded)
    assert (type(loaded.n_components), type(loaded.diffusion_time)) == (int, int)
    assert_same(model.fit_transform(X), loaded.fit_transform(X))


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_shared_arrays_are_stored_once_and_stay_shared(models, mmap_mode, tmp_path):
    model, _ = models["differences"]
    saved(model, tmp_path)
    loaded = idm.load(tmp_path / "model.idm", mmap_mode=mmap_mode)
    first, second = loaded._iterations
    assert second.map.index is first.image
    assert np.shares_memory(first.image.points, first.map.embedding)
    assert loaded.iterations_[0].density is first.map.coordinates.density
    assert loaded.landmarks_ is first.settings.map.advice.rows
    assert loaded.relevance_ is loaded._estimate.relevance
    assert not np.shares_memory(first.map.embedding, second.map.embedding)


def test_mapped_arrays_are_those_of_the_file_and_read_only(models, tmp_path):
    model, X = models["diffusion map"]
    saved(model, tmp_path)
    loaded = idm.load(tmp_path / "model.idm", mmap_mode="r")
    for array in (loaded.embedding_, loaded._map.radii, loaded._map.index.points):
        assert not array.flags.writeable
        assert array.__array_interface__["data"][0] % 64 == 0
        while not isinstance(array, np.memmap):
            array = array.base
        assert Path(array.filename) == tmp_path / "model.idm"
    idm.save(models["copies"][0], tmp_path / "model.idm")  # replaces the name, not the mapped file
    assert_same_results(model, loaded, X)
    assert idm.load(tmp_path / "model.idm").embedding_.flags.writeable


def test_numpy_and_json_read_the_file(models, tmp_path):
    """As docs/model_files.md says."""
    model, _ = models["affine derivatives"]
    content = saved(model, tmp_path)
    assert content[:8] == b"\x89idm\r\n\x1a\n"
    length = int.from_bytes(content[8:16], "little")
    header = json.loads(content[64 : 64 + length])
    assert hashlib.sha256(content[64 : 64 + length]).digest() == content[16:48]
    assert (header["format"], header["version"], header["class"]) == ("idm model", 1, "IteratedDiffusionMap")
    start = -(-(64 + length) // 64) * 64

    def array(node):
        entry = header["arrays"][node["array"]]
        count = int(np.prod(entry["shape"]))
        found = np.frombuffer(content, entry["dtype"], count, start + entry["offset"])
        assert hashlib.sha256(found).hexdigest() == entry["sha256"]
        return found.reshape(entry["shape"], order=entry["order"])

    fitted = header["fitted"]
    np.testing.assert_array_equal(array(fitted["embedding_"]), model.embedding_)
    np.testing.assert_array_equal(array(fitted["_regression"]["A"]), model._regression.A)
    assert header["parameters"]["tau"] == model.tau


def array_fields(cls, found):
    """Every dataclass that an attribute of this type may hold, with the names of its arrays."""
    for name, hint in _model_file._field_hints(cls).items():
        for arm in _model_file._arms(hint):
            if typing.get_origin(arm) is np.ndarray or arm is NeighborIndex:
                found.setdefault(cls, set()).add(name)
            elif dataclasses.is_dataclass(arm) and arm not in found:
                found.setdefault(arm, set())
                array_fields(arm, found)


def test_every_array_has_a_rule_and_every_rule_a_field():
    found = {}
    for cls, attributes in _model_file._FITTED.items():
        hints = {**attributes, **_model_file._SET_BY_SKLEARN}
        arms = [arm for hint in hints.values() for arm in _model_file._arms(hint)]
        for arm in [*arms, *(typing.get_args(arm)[0] for arm in arms if typing.get_origin(arm) is list)]:
            if dataclasses.is_dataclass(arm):
                found.setdefault(arm, set())
                array_fields(arm, found)
        arrays = {n for n, h in hints.items() for arm in _model_file._arms(h) if typing.get_origin(arm) is np.ndarray}
        assert arrays <= set(_model_rules.RULES[cls])
        assert set(_model_rules.RULES[cls]) <= set(hints)
    for cls, arrays in found.items():
        assert arrays <= set(_model_rules.RULES.get(cls, {})), cls
    for cls in set(_model_rules.RULES) - set(_model_file._FITTED):
        assert cls in found
        assert set(_model_rules.RULES[cls]) <= set(_model_file._field_hints(cls))


# What is refused.


def test_unfitted_models_and_other_objects_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        idm.save(idm.DiffusionMap(), tmp_path / "model.idm")

    class Mine(idm.DiffusionMap):
        pass

    for other in (Ridge(), Mine().fit(np.random.default_rng(0).normal(size=(20, 2))), None, idm.DiffusionMap):
        with pytest.raises(TypeError, match="model must be a fitted DiffusionMap, IteratedDiffusionMap,"):
            idm.save(other, tmp_path / "model.idm")
    assert list(tmp_path.iterdir()) == []


def test_a_feature_estimator_is_refused_with_what_to_do(tmp_path):
    X, _, _ = idm.datasets.make_annulus(60, random_state=0)
    y = X[:, 0]
    model = idm.IteratedDiffusionMap(6, feature_estimator=Ridge(), max_iter=2, random_state=0).fit(X, y)
    for change in ({}, {"feature_estimator": None}):
        with pytest.raises(
            TypeError, match=r"fitted with a feature_estimator .*pickle or joblib.*feature_estimator=None"
        ):
            idm.save(model.set_params(**change), tmp_path / "model.idm")
    unused = idm.IteratedDiffusionMap(6, feature_estimator=Ridge(), feature_change="derivative", random_state=0)
    unused.fit(X, y)
    with pytest.raises(TypeError, match=r"feature_estimator of type Ridge .*set_params\(feature_estimator=None\)"):
        idm.save(unused, tmp_path / "model.idm")
    saved(unused.set_params(feature_estimator=None), tmp_path)
    assert_same_results(unused, idm.load(tmp_path / "model.idm"), X)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("callback", print), ("random_state", np.random.RandomState(0)), ("random_state", np.random.default_rng(0))],
)
def test_parameters_that_are_no_plain_values_are_refused(models, parameter, value, tmp_path):
    model, X = models["differences"]
    changed = pickle.loads(pickle.dumps(model)).set_params(**{parameter: value})
    with pytest.raises(TypeError, match=rf"{parameter} of type .* save after model.set_params\({parameter}=None\)"):
        idm.save(changed, tmp_path / "model.idm")
    saved(changed.set_params(**{parameter: None}), tmp_path)
    assert_same_results(model, idm.load(tmp_path / "model.idm"), X)


def test_precomputed_neighbours_are_refused_until_they_are_taken_out(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = idm.DiffusionMap(3, precomputed_knn=idm.nearest_neighbors(X, 12)).fit(X)
    with pytest.raises(TypeError, match=r"precomputed_knn of type Neighbors .*set_params\(precomputed_knn=None\)"):
        idm.save(model, tmp_path / "model.idm")
    with pytest.raises(TypeError, match="epsilon of type list is not kept in model files; give it as a plain number"):
        idm.save(idm.DiffusionMap(3).fit(X).set_params(epsilon=[0.5]), tmp_path / "model.idm")


def test_models_that_do_not_fit_are_not_written(models, tmp_path):
    def altered(name, **attributes):
        model = pickle.loads(pickle.dumps(models[name][0]))
        vars(model).update(attributes)
        return model

    nan = models["differences"][0].embedding_ * np.nan
    for model, problem in (
        (altered("differences", note="mine"), "unknown: .'note'"),
        (altered("differences", embedding_=nan), "embedding_ must have numbers .* without NaN"),
        (altered("differences", landmarks_=np.arange(40) + 100), "landmarks_ must have numbers from 0 to 59"),
        (altered("diffusion map", epsilon_=float("inf")), "epsilon_ does not fit"),
        (altered("int labels", classes_=np.array([1j, 2])), "classes_ does not fit"),
        (altered("object labels", classes_=np.array([("a",), ("b", "c")], dtype=object)), "classes_ holds objects"),
    ):
        with pytest.raises((ValueError, TypeError), match=problem):
            idm.save(model, tmp_path / "model.idm")
    incomplete = altered("differences")
    del incomplete.relevance_
    with pytest.raises(ValueError, match=r"missing: .'relevance_'"):
        idm.save(incomplete, tmp_path / "model.idm")
    assert list(tmp_path.iterdir()) == []


def test_paths_that_are_no_model_files(models, tmp_path):
    with pytest.raises(FileNotFoundError):
        idm.load(tmp_path / "model.idm")
    with pytest.raises(FileNotFoundError):
        idm.save(models["differences"][0], tmp_path / "missing" / "model.idm")
    for function in (idm.load, lambda path: idm.save(models["differences"][0], path)):
        with pytest.raises(IsADirectoryError):
            function(tmp_path)
    with pytest.raises(ValueError, match="mmap_mode must be None or 'r', got 'r\\+'"):
        idm.load(tmp_path, mmap_mode="r+")
    for number, content in enumerate((b"", b"text", pickle.dumps(models["differences"][0]), bytes(10_000))):
        path = tmp_path / f"{number}.idm"
        path.write_bytes(content)
        with pytest.raises(
            ValueError, match=f"{number}.idm' cannot be loaded: the file is not a model file of idm.save"
        ):
            idm.load(path)


def test_a_link_is_followed_and_the_file_has_the_usual_permissions(models, tmp_path):
    (tmp_path / "link.idm").symlink_to(tmp_path / "model.idm")
    content = saved(models["copies"][0], tmp_path, "link.idm")
    assert (tmp_path / "link.idm").is_symlink()
    assert (tmp_path / "model.idm").read_bytes() == content
    assert (tmp_path / "model.idm").stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# A file is complete or not there.


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_no_other(models, step, tmp_path, monkeypatch):
    content = saved(models["diffusion map"][0], tmp_path)

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space left"):
        idm.save(models["differences"][0], tmp_path / "model.idm")
    assert [path.name for path in tmp_path.iterdir()] == ["model.idm"]
    assert (tmp_path / "model.idm").read_bytes() == content


def test_a_full_disk_leaves_the_old_file_and_no_other(models, run_python, tmp_path):
    """Files that may not be longer than 8 kB stand for it."""
    content = saved(models["differences"][0], tmp_path)
    run_python(
        f"""
import resource, signal, idm
model = idm.load({str(tmp_path / "model.idm")!r})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
try:
    idm.save(model, {str(tmp_path / "model.idm")!r})
except OSError as error:
    print(error)
else:
    raise AssertionError("written beyond the limit")
"""
    )
    assert [path.name for path in tmp_path.iterdir()] == ["model.idm"]
    assert (tmp_path / "model.idm").read_bytes() == content


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_killed_process_leaves_the_old_file(models, step, tmp_path):
    content = saved(models["differences"][0], tmp_path)
    script = f"""
import os, signal, idm
model = idm.load({str(tmp_path / "model.idm")!r}).set_params(n_jobs=1)
os.{step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
idm.save(model, {str(tmp_path / "model.idm")!r})
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == -signal.SIGKILL
    assert (tmp_path / "model.idm").read_bytes() == content
    assert idm.load(tmp_path / "model.idm").n_jobs is None


# Files that were damaged, or made to do harm.


def damaged(content, rng):
    """A copy that is cut, or has flipped, swapped or repeated bytes."""
    content, n = bytearray(content), len(content)
    # Most of it are arrays: half of the damage is where header and prefix are.
    place = rng.integers(n, size=2) if rng.random() < 0.5 else rng.integers(min(n, 12_000), size=2)
    (a, b), kind = sorted(map(int, place)), rng.integers(5)
    length = int(rng.integers(1, 300))
    if kind == 0:
        return bytes(content[:a])
    if kind == 1:
        content[a] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        content[a] = int(rng.integers(256))
    elif kind == 3:
        first, second = content[a : a + length], content[b : b + length]
        content[b : b + length], content[a : a + length] = first, second
    else:
        content[b:b] = content[a : a + length]
    return bytes(content)


@pytest.mark.parametrize("name", ["differences", "str labels", "local kernel map", "diffusion map"])
def test_a_damaged_file_is_refused_or_the_same_model(models, name, tmp_path):
    model, X = models[name]
    results(model, X)
    content, rng = (saved(model, tmp_path), np.random.default_rng(list(MODELS).index(name)))
    path, n_refused, n_same = tmp_path / "damaged.idm", 0, 0
    for number in range(500):
        wrong = damaged(content, rng)
        path.write_bytes(wrong)
        try:
            loaded = idm.load(path, mmap_mode="r" if number % 2 else None)
        except ValueError:
            n_refused += 1
        else:
            assert saved(loaded, tmp_path) == content, number
            n_same += 1
    assert n_refused > 480
    assert n_refused + n_same == 500


class Contents:
    """A file taken apart; `bytes` puts it together, with checksums that are right."""

    def __init__(self, content):
        length = int.from_bytes(content[8:16], "little")
        self.header = json.loads(content[64 : 64 + length])
        start = -(-(64 + length) // 64) * 64
        self.arrays = []
        for entry in self.header["arrays"]:
            count = int(np.prod(entry["shape"]))
            array = np.frombuffer(content, entry["dtype"], count, start + entry["offset"])
            self.arrays.append(array.reshape(entry["shape"], order=entry["order"]).copy(order="K"))

    def node(self, path):
        """The node at a path such as "fitted._iterations.0.features", and the one that holds it."""
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
        node = self.header
        for part in parents:
            node = node[part]
        return node, last

    def put(self, path, value):
        holder, last = self.node(path)
        holder[last] = value

    def number(self, path):
        holder, last = self.node(path)
        return (holder[last]["points"] if "points" in holder[last] else holder[last])["array"]

    def entries(self):
        """Describe the arrays as they are now."""
        entries, end = [], 0
        for array in self.arrays:
            offset = -(-end // 64) * 64
            entries.append(
                {
                    "dtype": array.dtype.str,
                    "shape": list(array.shape),
                    "order": "C" if array.flags.c_contiguous else "F",
                    "offset": offset,
                    "sha256": hashlib.sha256(array.tobytes(order="A")).hexdigest(),
                }
            )
            end = offset + array.nbytes
        self.header["arrays"] = entries

    def bytes(self, text=None):
        text = json.dumps(self.header).encode() if text is None else text
        content = b"\x89idm\r\n\x1a\n" + len(text).to_bytes(8, "little") + hashlib.sha256(text).digest() + bytes(16)
        for part in (text, *(array.tobytes(order="A") for array in self.arrays)):
            content += bytes(-len(content) % 64) + part
        return content


def refused(contents, path, problem, text=None):
    """Whatever is wrong is named, and costs no memory."""
    path.write_bytes(contents.bytes(text))
    for mmap_mode in (None, "r"):
        tracemalloc.start()
        try:
            with pytest.raises(ValueError, match=problem):
                idm.load(path, mmap_mode=mmap_mode)
            assert tracemalloc.get_traced_memory()[1] < 40 * path.stat().st_size + 1e6
        finally:
            tracemalloc.stop()


HEADER_TAMPERS = {
    "newer version": ({"version": 2, "written_by": "3.4.5"}, r"version 2 .*idm '3.4.5'\), and idm .* reads version 1"),
    "writer": ({"written_by": 1}, "written_by must be a version, got 1"),
    "version as text": ({"version": "1"}, "has format version '1'"),
    "version true": ({"version": True}, "has format version True"),
    "another format": ({"format": "other"}, "must be of format 'idm model'"),
    "unknown class": ({"class": "Pipeline"}, "class must be DiffusionMap, IteratedDiffusionMap, .*got 'Pipeline'"),
    "class of a part": ({"class": "FittedMap"}, "class must be"),
    "class that is no text": ({"class": ["DiffusionMap"]}, "class must be"),
    "parameters missing": ({"parameters": {}}, "parameters must have .*missing: .*'tau'"),
    "one more part": ({"code": "print()"}, "unknown: .'code'"),
    "fitted list": ({"fitted": []}, "fitted must be an object"),
    "arrays object": ({"arrays": {}}, "arrays must be a list"),
    "no arrays": ({"arrays": []}, "bytes after the last array"),
    "unknown parameter": ({"parameters.fit": 1}, "unknown: .'fit'"),
    "parameter of another type": ({"parameters.tau": "half"}, "parameters.tau must not be 'half'"),
    "parameter of another name": ({"parameters.mixing": "sums"}, "parameters.mixing must not be 'sums'"),
    "parameter list": ({"parameters.random_state": [1]}, "parameters.random_state must not be"),
    "callback": ({"parameters.callback": "os.system"}, "parameters.callback must not be 'os.system'"),
    "huge integer": ({"parameters.n_components": 10**30}, "parameters.n_components must not be"),
    "unknown attribute": ({"fitted.__class__": 1}, "unknown: .'__class__'"),
    "method as attribute": ({"fitted.transform": "x"}, "unknown: .'transform'"),
    "private attribute of another type": ({"fitted._scale_": "1"}, "_scale_ must not be '1'"),
    "truth for a count": ({"fitted.n_iter_": True}, "n_iter_ must not be True"),
    "another count": ({"fitted.n_iter_": 1}, "n_iter_ must be the number of iterations kept, 2 of 2"),
    "columns": ({"fitted.n_features_in_": 3}, "n_features_in_ must have numbers from 2 to 2"),
    "several features": ({"fitted._n_features_out": 99}, "_n_features_out must have numbers from"),
    "reason": ({"fitted.stop_reason_": "tired"}, "stop_reason_ must not be 'tired'"),
    "no iterations": ({"fitted._iterations": []}, "arrays has some that nothing refers to"),
    "part of another class": ({"fitted._iterations.0.class": "Settings"}, r"_iterations\[0\] must not be"),
    "class of Python": ({"fitted._iterations.0.settings.n_neighbors": {"class": "int"}}, "n_neighbors must not be"),
    "estimate of the user": ({"fitted._estimate.class": "CrossFitted"}, "_estimate must not be"),
    "estimate missing": ({"fitted._estimate": None}, "arrays has some that nothing refers to"),
    "unknown field": ({"fitted._iterations.0.map.code": 1}, r"_iterations\[0\].map must have .*unknown: .'code'"),
    "tau": ({"fitted._iterations.0.settings.flow.tau": 1.5}, "flow.tau must have numbers from 0 to 1"),
    "two flows": ({"fitted._iterations.0.settings.flow.mixing": "metric"}, "flow must be that of the settings"),
    "change": ({"fitted._iterations.0.map.flow.change": "derivative"}, "flow must be that of the settings"),
    "epsilon": ({"fitted._iterations.0.map.coordinates.epsilon": -1.0}, "epsilon must have numbers from"),
    "epsilon 0": ({"fitted._iterations.1.map.coordinates.epsilon": 0}, "epsilon must have numbers from"),
    "pool": ({"fitted._iterations.0.map.pool_size": 41}, "pool_size must have numbers from 1 to 40"),
    "small pool": ({"fitted._iterations.0.map.pool_size": 3}, "pool_size must be n_neighbors or more"),
    "change later": ({"fitted._iterations.1.settings.flow.change": "derivative"}, "flow must be that of the settings"),
    "warning": ({"fitted._iterations.0.settings.map.advice.remedies": {"os": "x"}}, "'os', which is no warning"),
    "remedy": ({"fitted._iterations.0.settings.map.advice.remedies": {"OutlierWarning": 3}}, "remedies must not be 3"),
    "array number": ({"fitted.embedding_": {"array": 10**6}}, "embedding_ must be one of .* arrays, got"),
    "negative array": ({"fitted.embedding_": {"array": -1}}, "embedding_ must be one of"),
    "array true": ({"fitted.embedding_": {"array": True}}, "embedding_ must be one of"),
    "array of another type": ({"fitted.landmarks_": {"array": 0}}, "landmarks_ must not be of dtype float64"),
    "objects for numbers": ({"fitted.embedding_": {"objects": [1.0]}}, "embedding_ must be one of"),
    "units": ({"fitted._estimate.units": [1.0, 0.0]}, "units must have numbers from"),
    "three units": ({"fitted._estimate.units": [1.0, 1.0, 1.0]}, "units must not be"),
    "numbering": ({"fitted.iterations_.1.iteration": 3}, "iterations_ must be numbered from 1"),
    "dtype of objects": ({"arrays.0.dtype": "|O"}, r"arrays\[0\] has the dtype '|O'"),
    "dtype of records": ({"arrays.0.dtype": [["a", "O"]]}, r"arrays\[0\] has the dtype"),
    "dtype of dates": ({"arrays.0.dtype": "<M8[ns]"}, r"arrays\[0\] has the dtype"),
    "wide text": ({"arrays.0.dtype": "<U99999999"}, r"arrays\[0\] has the dtype"),
    "huge shape": ({"arrays.0.shape": [2**40, 2**40]}, r"arrays\[0\] is at 0 with .* bytes, which does not fit"),
    "shape beyond": ({"arrays.0.shape": [10**30]}, r"arrays\[0\] has the shape"),
    "negative shape": ({"arrays.0.shape": [-1]}, r"arrays\[0\] has the shape"),
    "shape of truth": ({"arrays.0.shape": [True]}, r"arrays\[0\] has the shape"),
    "many dimensions": ({"arrays.0.shape": [1] * 40}, r"arrays\[0\] has the shape"),
    "order": ({"arrays.0.order": "A"}, r"arrays\[0\] has the shape .* and the order 'A'"),
    "negative offset": ({"arrays.1.offset": -64}, r"arrays\[1\] is at -64"),
    "overlap": ({"arrays.1.offset": 0}, r"arrays\[1\] is at 0"),
    "offset beyond": ({"arrays.1.offset": 2**62}, r"arrays\[1\] is at"),
    "checksum": ({"arrays.0.sha256": "0" * 64}, r"arrays\[0\] is cut short or altered"),
    "checksum of another type": ({"arrays.0.sha256": None}, r"arrays\[0\] is cut short or altered"),
    "entry list": ({"arrays.0": []}, r"arrays\[0\] must be an object"),
    "entry without offset": ({"arrays.0": {"dtype": "<f8"}}, r"arrays\[0\] must have .*missing"),
}  # fmt: skip


@pytest.mark.parametrize("tamper", HEADER_TAMPERS)
def test_headers_with_right_checksums_that_do_not_fit(models, tamper, tmp_path):
    changes, problem = HEADER_TAMPERS[tamper]
    contents = Contents(saved(models["differences"][0], tmp_path))
    for path, value in changes.items():
        contents.put(path, value)
    refused(contents, tmp_path / "model.idm", problem)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"version": 1', '"version": 1, "version": 1', "the header has a key twice"),
        ('"tau": 0.95', '"tau": 0.95, "tau": 1', "the header has a key twice"),
        ('"tau": 0.95', '"tau": NaN', "the header has the number NaN"),
        ('"tau": 0.95', '"tau": 1e999', "parameters.tau must not be inf"),
        ('"tau": 0.95', '"tau": ' + 5000 * "9", "Exceeds the limit"),
        ('"tau": 0.95', '"tau": ' + 200_000 * "[" + 200_000 * "]", "nested too deeply"),
        ('"tau": 0.95', '"tau": ' + 400 * "[" + 400 * "]", "parameters.tau must not be"),
        ('"tau": 0.95', '"tau": ' + 100_000 * '{"a":' + "1" + 100_000 * "}", "nested too deeply"),
        ('"tau": 0.95', '"tau": ', "cannot be loaded: Expecting value"),
        ('"tau": 0.95', '"tau": 0.95\udcff', "cannot be loaded: .*can't decode"),
    ],
)
def test_texts_with_right_checksums_that_are_no_header(models, old, new, problem, tmp_path):
    contents = Contents(saved(models["differences"][0], tmp_path))
    text = json.dumps(contents.header)
    assert text.count(old) >= 1
    refused(contents, tmp_path / "model.idm", problem, text.replace(old, new, 1).encode(errors="surrogateescape"))


def test_a_header_that_claims_to_be_long_is_not_read(models, tmp_path):
    content = saved(models["differences"][0], tmp_path)
    for length in (2**63, 2**40, len(content), 2**24 + 1):
        (tmp_path / "model.idm").write_bytes(content[:8] + length.to_bytes(8, "little") + content[16:])
        with pytest.raises(ValueError, match="length of its header does not fit"):
            idm.load(tmp_path / "model.idm")


ARRAY_TAMPERS = {
    "NaN in points": ("_iterations.0.map.index", np.nan, "points must be finite"),
    "NaN in features": ("_iterations.0.features", np.nan, "(features|values) must have numbers .* without NaN"),
    "infinite values": ("_iterations.0.map.values", np.inf, "(values|features) must have"),
    "infinite embedding": ("embedding_", -np.inf, "embedding_ must have numbers|embedding must have numbers"),
    "negative radii": ("_iterations.0.map.radii", -1.0, "map.radii must have numbers from 0"),
    "negative pool radii": ("_iterations.1.map.pool_radii", -1.0, "pool_radii must have numbers"),
    "landmark too large": ("landmarks_", 60, "must have numbers from 0 to 59"),
    "landmark too small": ("landmarks_", -1, "must have numbers from 0 to 59"),
    "landmark far away": ("landmarks_", 2**62, "must have numbers from 0 to 59"),
    "density": ("_iterations.0.map.coordinates.density", 0.0, "density must have numbers"),
    "weights": ("_iterations.0.map.coordinates.weights", -1.0, "weights must have numbers"),
    "eigenvalue": ("iterations_.0.eigenvalues", np.nan, "eigenvalues must have numbers"),
    "estimate": ("_estimate.values", np.nan, "_estimate.values must have numbers"),
    "estimated": ("_estimate.left_out", np.inf, "_estimate.left_out must have numbers"),
}  # fmt: skip


@pytest.mark.parametrize("tamper", ARRAY_TAMPERS)
def test_numbers_with_right_checksums_that_are_out_of_range(models, tamper, tmp_path):
    path, value, problem = ARRAY_TAMPERS[tamper]
    contents = Contents(saved(models["differences"][0], tmp_path))
    contents.arrays[contents.number(f"fitted.{path}")].flat[-1] = value
    contents.entries()
    refused(contents, tmp_path / "model.idm", problem)


@pytest.mark.parametrize(
    "name", ["differences", "affine derivatives", "derivatives", "diffusion map", "local kernel map"]
)
def test_arrays_of_other_sizes_are_refused(models, name, tmp_path):
    """Each array in turn loses its last row or column, or gets another order of its sizes."""
    content = saved(models[name][0], tmp_path)
    free, n_tried = free_sizes(Contents(content).header["fitted"]), 0
    for number, array in enumerate(Contents(content).arrays):
        wrongs = [array[:-1], array[np.newaxis] if array.ndim == 1 else array.ravel(), array.T]
        wrongs += [array[:, :-1]] if array.ndim == 2 else []
        for wrong in wrongs:
            if wrong.shape == array.shape or number in free:
                continue
            contents = Contents(content)
            contents.arrays[number] = np.ascontiguousarray(wrong)
            contents.entries()
            (tmp_path / "model.idm").write_bytes(contents.bytes())
            with pytest.raises(ValueError, match=r"cannot be loaded: .* must"):
                idm.load(tmp_path / "model.idm")
            n_tried += 1
    assert n_tried >= 30


def free_sizes(node):
    """Arrays that may have any length: residuals, eigenvalues and the map H; nothing else has a row for each of X."""
    if isinstance(node, list):
        return set().union(*map(free_sizes, node))
    if not isinstance(node, dict):
        return set()
    found = {node[name]["array"] for name in {"residuals", "eigenvalues", "embedding_"} & set(node)}
    if node.get("_feature_map"):
        found.add(node["_feature_map"][0]["array"])
    return found.union(*map(free_sizes, node.values()))


def leaves(node, path=""):
    if isinstance(node, dict | list):
        for name, item in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(item, f"{path}.{name}" if path else str(name))
    else:
        yield path


WRONG_VALUES = (None, True, -1, 0, 3, 10**18, -0.5, 1e-300, "", "NeighborIndex", [], {}, {"array": 0})


@pytest.mark.parametrize("name", ["object labels", "derivatives", "diffusion map", "local kernel map"])
def test_any_value_of_the_header_may_be_wrong(models, name, tmp_path):
    """An error, or a model that says what the file says and whose methods end."""
    model, X = models[name]
    original = Contents(saved(model, tmp_path)).bytes()
    path, rng, n_refused = (tmp_path / "model.idm", np.random.default_rng(list(MODELS).index(name)), 0)
    header = Contents(original).header
    places = [p for part in ("parameters", "fitted") for p in leaves(header[part], part)]
    for place in places:
        for choice in rng.choice(len(WRONG_VALUES), 3, replace=False):
            contents = Contents(original)
            contents.put(place, WRONG_VALUES[choice])
            path.write_bytes(contents.bytes())
            try:
                loaded = idm.load(path)
            except ValueError:
                n_refused += 1
                continue
            idm.save(loaded, path)
            assert Contents(path.read_bytes()).header["parameters"] == contents.header["parameters"]
            results(loaded, X[::4], METHODS)
    assert 2 * len(places) < n_refused < 3 * len(places)


def test_rows_in_another_order_are_refused(models, tmp_path):
    contents = Contents(saved(models["differences"][0], tmp_path))
    number = contents.number("fitted._iterations.0.map.coordinates.functions")
    contents.arrays[number] = np.asfortranarray(contents.arrays[number])
    contents.entries()
    refused(contents, tmp_path / "model.idm", "functions must be in C order")


def test_labels_with_right_checksums_that_are_none(models, tmp_path):
    contents = Contents(saved(models["str labels"][0], tmp_path))
    number = contents.number("fitted.classes_")
    contents.arrays[number].view(np.uint32)[3] = 0x110000
    contents.entries()
    refused(contents, tmp_path / "model.idm", "has characters that do not exist")
    contents = Contents(saved(models["bool labels"][0], tmp_path))
    contents.arrays[contents.number("fitted.classes_")].view(np.uint8)[1] = 2
    contents.entries()
    refused(contents, tmp_path / "model.idm", "truth values other than 0 and 1")
    contents = Contents(saved(models["int labels"][0], tmp_path))
    contents.arrays[contents.number("fitted.classes_")][:] = 5
    contents.entries()
    refused(contents, tmp_path / "model.idm", "classes_ must be sorted, and each label once")
    for labels in (["b", "a"], ["a", 1], ["a"], [None, "a"], [["a"], "b"], "ab"):
        contents = Contents(saved(models["object labels"][0], tmp_path))
        contents.put("fitted.classes_.objects", labels)
        refused(contents, tmp_path / "model.idm", "classes_ must")
    contents = Contents(saved(models["named columns"][0], tmp_path))
    contents.put("fitted.feature_names_in_.objects", ["x", 2])
    refused(contents, tmp_path / "model.idm", "feature_names_in_ must hold strings")


def test_hidden_bytes_are_refused(models, tmp_path):
    content = saved(models["diffusion map"][0], tmp_path)
    contents = Contents(content)
    length = int.from_bytes(content[8:16], "little")
    assert -(64 + length) % 64 > 0
    first = -(-(64 + length) // 64) * 64
    entries = contents.header["arrays"]
    before = first + next(b["offset"] for a, b in itertools.pairwise(entries) if np.prod(a["shape"]) % 8 != 0) - 1
    for wrong, problem in (
        (content + b"\0", "1 bytes after the last array"),
        (content[:48] + b"\1" + content[49:], "header does not fit"),
        (content[: 64 + length] + b"\1" + content[65 + length :], "zeros between header and arrays"),
        (content[:before] + b"\1" + content[before + 1 :], r"arrays\[\d+\] is cut short or altered"),
    ):
        (tmp_path / "model.idm").write_bytes(wrong)
        with pytest.raises(ValueError, match=problem):
            idm.load(tmp_path / "model.idm")
    contents.arrays.append(np.arange(5))
    contents.entries()
    refused(contents, tmp_path / "model.idm", "arrays has some that nothing refers to")


# Files of earlier versions.


KEPT_QUERIES = [[1.0, 0.9], [-0.4, 1.2], [1.5, -1.8], [-2.2, -0.3]]
KEPT_TRANSFORM = [
    [2.4433197471077133, 0.7540383534234895, -0.04217925712698168],
    [2.6112968767487232, 1.1373871848233303, 0.2662476926479838],
    [-1.3596885235223497, -0.8502671465782685, 0.6089539867078109],
    [-0.6654716554824197, -1.4298183081118785, 0.456828297741196],
]
KEPT_PREDICTED = [1.354051043582751, 1.2796386289320534, 2.378178053836751, 2.22535104468811]


def make_kept_file(path):
    """In this folder, `python -c "import test_model_file as t; t.make_kept_file(t.KEPT_FILE)"` made the file."""
    X, _, y = idm.datasets.make_annulus(150, feature="radius", random_state=0)
    idm.save(idm.IteratedDiffusionMap(8, n_neighbors=40, n_landmarks=80, max_iter=2, random_state=0).fit(X, y), path)


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_the_file_of_format_version_1_is_read(mmap_mode):
    model = idm.load(KEPT_FILE, mmap_mode=mmap_mode)
    np.testing.assert_allclose(model.transform(KEPT_QUERIES)[:, :3], KEPT_TRANSFORM, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict(KEPT_QUERIES)[:, 0], KEPT_PREDICTED, rtol=1e-9)
    assert model.supported(KEPT_QUERIES).all()
    assert (model.n_iter_, model.stop_reason_, model.embedding_.shape) == (2, "max_iter", (150, 6))


# Pickle and joblib.


@pytest.mark.parametrize("name", MODELS)
def test_pickle_and_joblib_give_the_same_bits(models, name, tmp_path):
    model, X = models[name]
    copies = [pickle.loads(pickle.dumps(model, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    joblib.dump(model, tmp_path / "model.joblib")
    for copy in (
        *copies,
        joblib.load(tmp_path / "model.joblib"),
        joblib.load(tmp_path / "model.joblib", mmap_mode="r"),
    ):
        assert_same_results(model, copy, X)


def test_a_feature_estimator_is_pickled():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = idm.IteratedDiffusionMap(6, feature_estimator=Ridge(), max_iter=2, random_state=0).fit(X, X[:, 0])
    assert_same_results(model, pickle.loads(pickle.dumps(model)), X[:20])


@pytest.mark.parametrize("script", ["altered attributes", "flipped bits"])
def test_an_altered_pickle_does_not_crash(script, run_python):
    """Models have no checks like those of files: whatever reaches the compiled steps must be checked there."""
    folder = str(Path(__file__).parent)
    printed = run_python(
        f"import sys; sys.path.insert(0, {folder!r}); import altered_models as a; a.{script.replace(' ', '_')}()",
        timeout=300,
    )
    n_tried = int(printed.split()[0])
    assert n_tried >= 600

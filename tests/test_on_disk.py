"""Rows that are read in blocks: the same results as in memory, to the bit, and errors that name rows of the whole."""

import numpy as np
import pytest

import idm
from idm import _on_disk
from idm._cells import CellMeans
from idm._on_disk import OnDisk, is_on_disk

N, SUBSAMPLE = 1500, 700


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(_on_disk, "_BLOCK_BYTES", 5000)


@pytest.fixture(scope="module")
def data():
    X, _, y = idm.datasets.make_annulus(N, feature="radius", random_state=0)
    return X, y


def model(**parameters):
    return idm.IteratedDiffusionMap(random_state=0, n_landmarks=300, **{"subsample": SUBSAMPLE, **parameters})


@pytest.fixture(scope="module")
def in_memory(data):
    return model().fit(*data)


def mapped(path, array, mode="w+"):
    result = np.memmap(path, dtype=array.dtype, mode=mode, shape=array.shape)
    result[:] = array
    return result


@pytest.fixture(params=["memmap", "h5py", "zarr", "zarr by columns"])
def stored(request, data, tmp_path):
    """A function that puts an array on a disk."""
    if request.param == "memmap":
        yield lambda name, array: mapped(tmp_path / name, array)
    elif request.param == "h5py":
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "data.h5", "w") as file:
            yield lambda name, array: file.create_dataset(name, data=array)
    else:
        zarr = pytest.importorskip("zarr")
        rows, columns = (70, 2) if request.param == "zarr" else (2000, 1)
        yield lambda name, array: zarr.array(array, chunks=(rows, columns)[: array.ndim])


def test_a_fit_from_disk_is_that_in_memory(stored, data, in_memory):
    X, y = (stored(name, array) for name, array in zip("Xy", data, strict=True))
    found = model().fit(X, y)
    np.testing.assert_array_equal(found.landmarks_, in_memory.landmarks_)
    np.testing.assert_array_equal(found.embedding_, in_memory.embedding_)
    np.testing.assert_array_equal(found.predict(X), in_memory.predict(data[0]))
    np.testing.assert_array_equal(found.supported(X), in_memory.supported(data[0]))


def test_features_may_stay_in_memory(stored, data, in_memory):
    found = model().fit(stored("X", data[0]), data[1].tolist())
    np.testing.assert_array_equal(found.embedding_, in_memory.embedding_)


def test_a_few_rows_on_a_disk_are_all_fitted(stored, data):
    X, y = (array[:400] for array in data)
    expected = model().fit(X, y)
    np.testing.assert_array_equal(model().fit(stored("X", X), stored("y", y)).embedding_, expected.embedding_)


def test_coordinates_can_be_left_to_transform_and_go_to_a_disk(stored, data, in_memory):
    X = stored("X", data[0])
    found = model(store_embedding=False).fit(X, data[1])
    assert not hasattr(found, "embedding_")
    out = stored("out", np.zeros_like(in_memory.embedding_))
    assert found.transform(X, out=out) is out
    np.testing.assert_array_equal(out[:], in_memory.embedding_)
    np.testing.assert_array_equal(found.fit_transform(X, data[1]), in_memory.embedding_)
    assert found.feature_map_residual_ == in_memory.feature_map_residual_


def test_a_second_fit_does_not_keep_the_coordinates_of_the_first(data):
    found = model().fit(*data).set_params(store_embedding=False).fit(*data)
    assert not hasattr(found, "embedding_")


@pytest.mark.parametrize("out", [np.empty((N, 3)), np.empty(N), [[0.0]], np.empty((2, 2), dtype=int), "zeros"])
def test_an_output_that_does_not_fit_is_refused(in_memory, data, out):
    with pytest.raises(ValueError, match=r"out must be an array of floating-point numbers of shape \(1500, "):
        in_memory.transform(data[0], out=out)


@pytest.mark.parametrize("where", ["X", "y"])
def test_nan_in_a_row_that_is_not_fitted_is_an_error_with_its_number(stored, data, in_memory, where):
    arrays = {name: array.copy() for name, array in zip("Xy", data, strict=True)}
    row = int(np.setdiff1d(np.arange(N), in_memory.landmarks_)[-1])
    arrays[where][row] = np.nan
    with pytest.raises(ValueError, match=rf"{where} must be finite, got \d NaN .* in row {row}, column 0"):
        model().fit(*(stored(name, array) for name, array in arrays.items()))


def test_shapes_that_do_not_fit_are_refused(stored, data, in_memory):
    X, y = data
    with pytest.raises(ValueError, match="X has 1 features, but IteratedDiffusionMap is expecting 2"):
        in_memory.transform(stored("narrow", X[:, :1].copy()))
    with pytest.raises(ValueError, match=r"X must have rows and columns, got shape \(1500,\)"):
        model().fit(stored("flat", y[:, 0].copy()), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model().fit(stored("X", X), y[:-1])


def test_float32_stays_float32_until_a_part_is_used(data, tmp_path):
    X, y = data
    expected = model().fit(X.astype(np.float32), y)
    found = model().fit(mapped(tmp_path / "X", X.astype(np.float32)), y)
    np.testing.assert_array_equal(found.embedding_, expected.embedding_)


def test_blocks_are_whole_chunks_and_every_row_comes_once():
    class Chunked:
        shape, dtype, chunks = (100, 2), np.dtype(np.float64), (30, 2)

        def __init__(self):
            self.read = []

        def __getitem__(self, rows):
            self.read.append((rows.start, rows.stop))
            return np.arange(200.0).reshape(100, 2)[rows]

    array = Chunked()
    assert is_on_disk(array)
    rows = np.array([0, 29, 30, 99])
    taken = OnDisk(array, lambda block, first_row: block).take(rows)
    np.testing.assert_array_equal(taken[:, 0], 2 * rows)
    assert [start % 30 for start, _ in array.read] == [0] * len(array.read)


def test_what_is_in_memory_is_not_taken_for_a_file():
    pandas = pytest.importorskip("pandas")
    scipy_sparse = pytest.importorskip("scipy.sparse")
    frame = pandas.DataFrame(np.eye(3))
    for value in (np.eye(3), np.ma.array(np.eye(3)), [[1.0]], frame, frame[0], np.float64(1),
                  scipy_sparse.csr_array(np.eye(3)), None, "text"):  # fmt: skip
        assert not is_on_disk(value)


def test_dates_are_refused_as_in_memory(data, tmp_path):
    dates = mapped(tmp_path / "dates", (data[0] * 1e6).astype("m8[s]"))
    with pytest.raises(TypeError, match=r"X must hold numbers, got dtype timedelta64\[s\]"):
        model().fit(dates, data[1])


def test_an_output_of_too_small_numbers_is_refused(data):
    X, y = data[0] * 1e42, data[1]
    found = model().fit(X, y)
    out = np.empty(found.embedding_.shape, dtype=np.float32)
    with pytest.raises(ValueError, match=r"out has dtype float32, too small for coordinates of .* float64"):
        found.transform(X, out=out)


def test_an_output_that_cannot_be_written_or_would_be_a_frame_is_refused_before_any_work(in_memory, data):
    out = np.empty(in_memory.embedding_.shape)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        in_memory.transform(data[0], out=out)
    pytest.importorskip("pandas")
    framed = model().fit(*data).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"transform gives a pandas frame.*set_output\(transform='default'\)"):
        framed.transform(data[0], out=np.empty_like(out))
    assert framed.transform(data[0]).shape == out.shape


class Sliced:
    """Any array-like: slices, as they are."""

    def __init__(self, array, chunks=None):
        self._array, self.shape, self.dtype, self.chunks, self.longest = array, array.shape, array.dtype, chunks, 0

    def __getitem__(self, rows):
        part = self._array[rows]
        self.longest = max(self.longest, len(part))
        return part


@pytest.mark.parametrize("where", ["X", "y"])
def test_slices_that_are_masked_are_refused(data, in_memory, where):
    """As those of netCDF4 are, whose fill values are numbers."""
    arrays = {"X": data[0], "y": data[1]}
    masked = np.ma.masked_array(arrays[where], mask=np.zeros(arrays[where].shape, dtype=bool))
    arrays[where] = Sliced(masked)
    np.testing.assert_array_equal(model().fit(**arrays).embedding_, in_memory.embedding_)
    masked[1200] = np.ma.masked
    with pytest.raises(ValueError, match=f"{where} has masked values"):
        model().fit(**arrays)
    with pytest.raises(ValueError, match="X has masked values"):
        in_memory.transform(Sliced(np.ma.masked_greater(data[0], 1.0)))


def test_the_sizes_of_all_chunks_may_be_told(data, in_memory):
    found = in_memory.transform(Sliced(data[0], chunks=((700, 800), (2,))))
    np.testing.assert_array_equal(found, in_memory.embedding_)


def test_features_on_a_disk_are_summed_in_blocks_too(data):
    X, y = data
    noisy = y + np.random.default_rng(0).normal(scale=y.std(), size=y.shape)
    stored = Sliced(noisy)
    found = model(store_embedding=False).fit(X, stored)
    assert isinstance(found._estimate, CellMeans)
    assert stored.longest == 625
    np.testing.assert_array_equal(found.predict(X), model(store_embedding=False).fit(X, noisy).predict(X))

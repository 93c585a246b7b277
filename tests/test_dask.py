"""Dask collections on a real cluster of two worker processes: the same results as in memory, to the bit."""

import os
import signal
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import idm
from idm._cells import CellMeans, CellSums

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

N, SUBSAMPLE = 1500, 700
X, _, y = idm.datasets.make_annulus(N, feature="radius", random_state=0)
y = y[:, 0]


def model(**parameters):
    return idm.IteratedDiffusionMap(random_state=0, **{"n_landmarks": 300, "subsample": SUBSAMPLE, **parameters})


@pytest.fixture(scope="module")
def in_memory():
    return model().fit(X, y)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    options = {"processes": True, "dashboard_address": ":0", "local_directory": str(folder)}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client


CHUNKS = {
    "equal": ((500, 500, 500), (2,)),
    "unequal, one row, none": ((1, 0, 999, 500, 0), (2,)),
    "columns apart": ((800, 700), (1, 1)),
}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
def test_arrays(client, in_memory, chunks):
    points = da.from_array(X, chunks=chunks)
    found = model().fit(points, da.from_array(y, chunks=400))  # y in other chunks
    np.testing.assert_array_equal(found.landmarks_, in_memory.landmarks_)
    assert not hasattr(found, "embedding_")
    coordinates, features, supported = found.transform(points), found.predict(points), found.supported(points)
    for lazy, shape in ((coordinates, in_memory.embedding_.shape), (features, (N,)), (supported, (N,))):
        assert isinstance(lazy, da.Array)
        assert lazy.shape == shape
        assert lazy.chunks[0] == chunks[0]
    np.testing.assert_array_equal(coordinates, in_memory.embedding_)
    np.testing.assert_array_equal(features, in_memory.predict(X))
    np.testing.assert_array_equal(supported, in_memory.supported(X))


@pytest.fixture(scope="module")
def noisy():
    """X, y, and a model of them that needed the sums of all rows."""
    points, _, features = idm.datasets.make_annulus(6000, feature="radius", random_state=0)
    features += 0.3 * features.std() * np.random.default_rng(0).normal(size=features.shape)
    found = model().fit(points, features)
    assert isinstance(found._estimate, CellMeans)
    return points, features, found


@pytest.mark.parametrize("chunks", [(2000, 2), ((1, 0, 4999, 1000), (2,))], ids=["equal", "unequal"])
def test_noise_is_averaged_where_the_chunks_are(client, noisy, chunks):
    points, features, expected = noisy
    found = model().fit(da.from_array(points, chunks=chunks), da.from_array(features, chunks=(1700, 1)))
    np.testing.assert_array_equal(found.transform(points), expected.embedding_)


def test_fit_transform_is_lazy_too(client, in_memory):
    lazy = model().fit_transform(da.from_array(X, chunks=(400, 2)), y)
    assert isinstance(lazy, da.Array)
    np.testing.assert_array_equal(lazy, in_memory.embedding_)


def test_without_a_cluster(in_memory):
    with dask.config.set(scheduler="threads"):
        points = da.from_array(X, chunks=(400, 2))
        found = model().fit(points, y)
        np.testing.assert_array_equal(found.transform(points), in_memory.embedding_)


def test_chunks_of_unknown_size(client, in_memory):
    points = da.from_array(X, chunks=(400, 2))
    unknown = points[points[:, 0] < np.inf]
    assert np.isnan(unknown.shape[0])
    found = model().fit(unknown, da.from_array(y, chunks=300)[da.from_array(y, chunks=300) < np.inf])
    np.testing.assert_array_equal(found.transform(unknown), in_memory.embedding_)


def test_data_frames(client, in_memory):
    pandas, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    index = 2 * np.arange(N)
    frame = dd.from_pandas(pandas.DataFrame(X, columns=["east", "north"], index=index), npartitions=4)
    series = dd.from_pandas(pandas.Series(y, index=index), npartitions=3)
    found = model().fit(frame, series)
    assert found.feature_names_in_.tolist() == ["east", "north"]
    coordinates = found.transform(frame)
    assert isinstance(coordinates, dd.DataFrame)
    assert coordinates.columns.tolist() == found.get_feature_names_out().tolist()
    computed = coordinates.compute()
    np.testing.assert_array_equal(computed, in_memory.embedding_)
    np.testing.assert_array_equal(computed.index, index)
    predicted = found.predict(frame)
    assert isinstance(predicted, dd.Series)
    np.testing.assert_array_equal(predicted.compute(), in_memory.predict(X))
    two = model(n_landmarks=100).fit(frame, np.stack([y, -y], axis=1)).predict(frame)
    assert two.compute().shape == (N, 2)


def test_labels(client):
    labels = np.where(y > np.median(y), "far", "near")
    points = da.from_array(X, chunks=(400, 2))
    classifier = idm.IteratedDiffusionMapClassifier(random_state=0, n_landmarks=200, subsample=SUBSAMPLE)
    found, expected = classifier.fit(points, da.from_array(labels, chunks=N)), classifier.fit(X, labels)
    np.testing.assert_array_equal(found.predict(points), expected.predict(X))
    np.testing.assert_array_equal(found.predict_proba(points), expected.predict_proba(X))


def dies(block, folder, reading, block_info=None):
    """A chunk that kills a worker once: the first that reads it for the given time."""
    if len(block):
        chunk = block_info[0]["chunk-location"][0]
        n_readings = 1 + len(list(folder.glob(f"{chunk} *")))
        (folder / f"{chunk} {n_readings}").touch()
        if n_readings == reading:
            try:
                (folder / "killed").mkdir()
            except FileExistsError:
                return block
            os.kill(os.getpid(), signal.SIGKILL)
    return block


def deadly(array, folder, reading):
    return da.from_array(array, chunks=(200, 2)).map_blocks(dies, folder, reading, dtype=float, meta=np.empty((0, 2)))


@pytest.mark.parametrize("method", ["fit", "transform"])
def test_a_killed_worker_changes_nothing(client, in_memory, method, tmp_path):
    client.wait_for_workers(2)
    points, fatal = da.from_array(X, chunks=(200, 2)), deadly(X, tmp_path, 1)
    found = model().fit(fatal if method == "fit" else points, y)
    np.testing.assert_array_equal(found.landmarks_, in_memory.landmarks_)
    coordinates = found.transform(fatal if method == "transform" else points).compute()
    np.testing.assert_array_equal(coordinates, in_memory.embedding_)
    assert (tmp_path / "killed").exists()


def test_a_worker_killed_while_sums_are_taken_changes_nothing(client, noisy, tmp_path):
    """Chunks are read for the sample first, then for the sums."""
    client.wait_for_workers(2)
    points, features, expected = noisy
    found = model().fit(deadly(points, tmp_path, 2), features)
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(found.transform(points), expected.embedding_)


@pytest.mark.parametrize("where", ["X", "y"])
def test_a_chunk_of_nan_is_an_error_that_names_its_rows(client, where):
    arrays = {"X": X.copy(), "y": y.copy()}
    arrays[where][1000:] = np.nan
    with pytest.raises(ValueError, match=rf"{where} must be finite, got \d+ NaN .* in row 1000, column 0"):
        model().fit(da.from_array(arrays["X"], chunks=(500, 2)), da.from_array(arrays["y"], chunks=500))


def test_nan_in_a_lazy_result_is_an_error_that_names_its_rows(client, in_memory):
    bad = X.copy()
    bad[1100:1150] = np.nan
    points = da.from_array(bad, chunks=(400, 2))
    for method in (in_memory.transform, in_memory.predict, in_memory.supported):
        with pytest.raises(ValueError, match=r"X must be finite, got \d+ NaN .* in row 1100, column 0"):
            method(points).compute()
    pandas, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(pandas.DataFrame(bad), npartitions=3)
    with pytest.raises(ValueError, match=r"in row 100, column 0.* \(of the partition that begins with index .*1000"):
        in_memory.transform(frame).compute()


def test_what_does_not_fit_is_refused(client, in_memory):
    points = da.from_array(X, chunks=(500, 2))
    with pytest.raises(ValueError, match=r"y must have a row for each of the 1500 rows of X, got shape \(1499,\)"):
        model().fit(points, y[1:])
    with pytest.raises(ValueError, match="X must have rows and columns, got a Dask array of shape"):
        model().fit(points[:, 0], y)
    with pytest.raises(TypeError, match="out cannot be given with a Dask X; store the result"):
        in_memory.transform(points, out=np.empty_like(in_memory.embedding_))
    with pytest.raises(ValueError, match="X has 1 features, but IteratedDiffusionMap is expecting 2"):
        in_memory.transform(points[:, :1]).compute()


def test_a_task_runs_on_one_thread(monkeypatch):
    """Even if the model was told to use more: workers have as many threads as they have processors."""
    wide, seen = model(n_jobs=2).fit(X, y), []
    monkeypatch.setattr("idm._iterated_map.n_threads", lambda n_jobs: seen.append(n_jobs) or 1)
    wide.transform(da.from_array(X, chunks=(500, 2))).compute(scheduler="synchronous")
    assert seen == [1, 1, 1]
    assert wide.n_jobs == 2


def test_sums_are_taken_on_one_thread_too(monkeypatch, noisy):
    points, features, _ = noisy
    seen, of = [], CellSums.of
    monkeypatch.setattr(CellSums, "of", lambda self, *given: seen.append(given[-1]) or of(self, *given))
    with dask.config.set(scheduler="synchronous"):
        model(n_jobs=2).fit(da.from_array(points, chunks=(2000, 2)), features)
    assert seen[:3] == [1, 1, 1]


def test_the_model_is_sent_once_and_without_the_coordinates_of_its_rows(in_memory):
    lazy = in_memory.transform(da.from_array(X, chunks=(50, 2)))
    models = [key for key in dict(lazy.__dask_graph__()) if "IteratedDiffusionMap" in str(key)]
    assert len(models) == 1
    assert hasattr(in_memory, "embedding_")


def test_grid_search_on_the_cluster(client):
    import joblib

    search, alone = (GridSearchCV(model(n_jobs=1), {"tau": [0.8, 0.95]}, cv=2) for _ in range(2))
    with joblib.parallel_backend("dask"):
        search.fit(X, y)
    alone.fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])


def test_without_dask_a_collection_says_what_to_install(monkeypatch):
    class Collection:
        __module__ = "dask.array"

        def __dask_graph__(self):
            raise AssertionError

    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"pip install 'iterated-diffusion-map\[dask\]'"):
        model().fit(Collection(), y)


def test_masks_are_not_lost():
    masked = da.ma.masked_greater(da.from_array(X, chunks=(500, 2)), 1.5)
    with pytest.raises(ValueError, match="X has masked values"):
        model().fit(masked, y)
    points = da.from_array(X, chunks=(500, 2))
    for values in (np.ma.masked_greater(y, 1.5), da.ma.masked_greater(da.from_array(y, chunks=500), 1.5)):
        with pytest.raises(ValueError, match="y has masked values"):
            model().fit(points, values)


def test_features_in_chunks_beside_points_in_memory(in_memory):
    np.testing.assert_array_equal(model().fit(X, da.from_array(y, chunks=400)).embedding_, in_memory.embedding_)


def test_other_estimators_compute_what_they_get():
    points = da.from_array(X[:300], chunks=(100, 2))
    plain = idm.DiffusionMap(5, n_neighbors=100).fit(X[:300])
    np.testing.assert_array_equal(plain.transform(points), plain.transform(X[:300]))


def test_collections_of_another_kind_and_frames_as_results_are_refused(in_memory):
    with pytest.raises(TypeError, match="X must be a Dask array or data frame, got Delayed"):
        model().fit(dask.delayed(X), y)
    points = da.from_array(X, chunks=(500, 2))
    with pytest.raises(TypeError, match="y must be a Dask array or data frame, got Delayed"):
        model().fit(points, dask.delayed(y))
    with pytest.raises(ValueError, match="y must be given"):
        model().fit(points, None)
    with pytest.raises(NotFittedError):
        model().predict(points)
    framed = model().fit(X, y).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"a Dask X does not go with; call set_output\(transform='default'\)"):
        framed.transform(points)


def test_each_chunk_is_read_once():
    read = []

    def counted(block, block_info=None):
        read.append(block_info[0]["chunk-location"][0])
        return block

    data = da.from_array(np.column_stack([X, y]), chunks=(500, 3)).map_blocks(
        counted, dtype=float, meta=np.empty((0, 0))
    )
    with dask.config.set(scheduler="synchronous"):
        model().fit(data[:, :2], data[:, 2])
    assert sorted(read) == [0, 1, 2]

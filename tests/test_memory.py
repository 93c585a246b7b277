"""What a fit takes is known beforehand, and refused if there is less."""

import tracemalloc

import numpy as np
import pytest

import idm


def test_grows_with_rows_columns_and_parameters():
    least = idm.estimate_memory(10_000, 3)
    assert idm.estimate_memory(20_000, 3) > least
    assert idm.estimate_memory(10_000, 30) > least
    assert idm.estimate_memory(10_000, 3, 20) > least
    assert idm.estimate_memory(10_000, 3, estimator=idm.IteratedDiffusionMap(n_landmarks=None)) > 2 * least
    assert idm.estimate_memory(100_000, 3, estimator=idm.DiffusionMap()) > idm.estimate_memory(100_000, 3)
    # Beyond the landmarks, a row takes less than 1 KB with as many coordinates as iterations usually keep.
    few = idm.IteratedDiffusionMap(50)
    sizes = [idm.estimate_memory(n, 3, estimator=few) for n in (10_000, 1_010_000)]
    assert (sizes[1] - sizes[0]) / 1e6 < 1000


@pytest.mark.filterwarnings("ignore::idm.exceptions.SpectraDifferWarning")
@pytest.mark.parametrize(
    "estimator", [idm.IteratedDiffusionMap(random_state=0), idm.DiffusionMap(20), idm.LocalKernelMap()]
)
def test_covers_what_numpy_takes(estimator):
    X, _, y = idm.datasets.make_torus(6000, feature="theta", random_state=0)
    estimator.fit(X[:500], y[:500])
    tracemalloc.start()
    estimator.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < idm.estimate_memory(6000, 3, y.shape[1], estimator=estimator) < 10 * peak


@pytest.mark.filterwarnings("ignore::idm.exceptions.SpectraDifferWarning")
@pytest.mark.parametrize("estimator", [idm.IteratedDiffusionMap(), idm.DiffusionMap(20), idm.LocalKernelMap()])
def test_a_fit_that_cannot_fit_is_refused_at_once(estimator, monkeypatch):
    X, _, y = idm.datasets.make_torus(3000, feature="theta", random_state=0)
    monkeypatch.setattr("idm._fit_size.available_memory", lambda: 10_000_000)
    with pytest.raises(MemoryError, match=r"3,000 rows, 3 columns, .* takes about 0\.\d+ GB, of 0.01 GB left; lower"):
        estimator.fit(X, y)
    monkeypatch.setattr("idm._fit_size.available_memory", lambda: None)  # where nothing is known, it is tried
    estimator.set_params(n_components=3).fit(X[:300], y[:300])


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="estimator must be one of this package"):
        idm.estimate_memory(10, 3, estimator=3)
    with pytest.raises(ValueError, match="n_samples must be at least 1, got 0"):
        idm.estimate_memory(0, 3)


@pytest.mark.parametrize("model", [idm.IteratedDiffusionMap(max_iter=1, random_state=0), idm.DiffusionMap(3)])
def test_new_rows_in_single_precision_are_converted_in_parts(model, rng):
    X = rng.normal(size=(120, 200))
    model.fit(X, X[:, 0])
    new = np.tile(X[:100].astype(np.float32), (500, 1))  # 50,000 rows: 80 MB as float64
    expected = model.transform(new[:100].astype(np.float64))
    tracemalloc.start()
    found = model.transform(new)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(found, np.tile(expected, (500, 1)))
    assert peak < found.nbytes + 60e6  # a part of 8,192 rows has 13 MB, and there are a few

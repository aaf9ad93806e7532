"""If only one file of tests is run, this one: what a wheel must do on a machine with numpy and scikit-learn alone.

``python tests/house/test_minimal.py`` runs it without pytest.
"""

from __future__ import annotations

import pickle
import sys
import sysconfig
import threading

import kernsift
import kernsift.export
import numpy as np

rng = np.random.default_rng(20264)
X = rng.uniform(-2, 2, (300, 2))
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.05 * rng.standard_normal(300)
LABELS = np.array(["low", "middle", "high"])[(Y > -0.5).astype(int) + (Y > 0.5)]


def estimators():
    """Every public estimator that fits a target, with its target."""
    names = [n for n in kernsift.__all__ if n.endswith(("Regressor", "Classifier"))]
    assert len(names) >= 11
    for name in names:
        how = {"settings": {"gamma": 0.5}} if name.startswith("Kernel") else {"gamma": 0.5}
        yield getattr(kernsift, name)(**how), LABELS if name.endswith("Classifier") else Y


def test_the_build_is_one_this_processor_runs():
    config = kernsift.build_config()
    assert config["cpu_level"] in config["built_levels"]
    assert config["cpu_level"] in config["cpu_runs"]


def test_a_dense_model_is_the_solution_of_its_equations():
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    bordered = np.block([[K + 0.1 * np.eye(300), np.ones((300, 1))], [np.ones((1, 300)), np.zeros((1, 1))]])
    *beta, b = np.linalg.solve(bordered, [*Y, 0.0])
    model = kernsift.LSSVMRegressor(gamma=0.5, alpha=0.1).fit(X, Y)
    # condition of the system: some 1e4
    np.testing.assert_allclose(model.predict(X), K @ beta + b, rtol=0, atol=1e-9)


def test_a_subset_of_regressors_is_ridge_regression_on_its_kernels():
    vectors = X[:20]
    K, Kmm = (np.exp(-0.5 * ((A[:, None] - vectors) ** 2).sum(axis=2)) for A in (X, vectors))
    centred, mean = K - K.mean(axis=0), Y.mean()
    beta = np.linalg.solve(centred.T @ centred + 0.1 * Kmm, centred.T @ (Y - mean))
    model = kernsift.SubsetLSSVMRegressor(gamma=0.5, alpha=0.1, basis=vectors).fit(X, Y)
    # normal equations in kernel coordinates, here in the test, lose half of the digits
    np.testing.assert_allclose(model.predict(X), centred @ beta + mean, rtol=0, atol=1e-5)


def test_every_estimator_learns_and_is_stored():
    for model, target in estimators():
        model.fit(X, target)
        assert model.score(X, target) > 0.8, model
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_stream_is_the_same_row_by_row():
    whole = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=15).partial_fit(X, Y)
    rows = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=15)
    for x, y in zip(X, Y, strict=True):
        rows.partial_fit(x[None], [y])
    np.testing.assert_array_equal(rows.basis_indices_, whole.basis_indices_)
    np.testing.assert_allclose(rows.predict(X), whole.predict(X), rtol=0, atol=1e-9)


def test_a_model_in_c_needs_nothing():
    assert "model_predict" in kernsift.export.to_c(kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=9).fit(X, Y))


def test_nothing_optional_was_imported():
    if "pytest" not in sys.modules:
        assert not {"matplotlib", "onnx", "skl2onnx", "rich"} & set(sys.modules)


def test_threads_predict_at_once():
    """On a free-threaded Python the core must not have switched the lock on again."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled()
    model = kernsift.OnlineLSSVMRegressor(gamma=0.5, max_basis=15).fit(X, Y)
    expected, found = model.predict(X), [None] * 4

    def predict(i):
        for _ in range(20):
            found[i] = model.predict(X)

    threads = [threading.Thread(target=predict, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in found:
        np.testing.assert_array_equal(answer, expected)


if __name__ == "__main__":
    tests = {name: test for name, test in list(globals().items()) if name.startswith("test_")}
    for name, test in tests.items():
        test()
        print("ok", name)
    print(f"{len(tests)} tests of kernsift {kernsift.__version__}, {kernsift.build_config()['cpu_level']}: all well")

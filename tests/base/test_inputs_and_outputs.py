"""Tables in, tables out: data frames, float32, feature names, routed weights, the HTML page; every estimator."""

from __future__ import annotations

import importlib.util
import inspect
import warnings

import kernsift
import numpy as np
import pytest
import sklearn
from kernsift.base import estimator as _estimator
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

# tests/control has its own for KernelLSPI, which takes transitions
PUBLIC = [n for n in kernsift.__all__ if hasattr(getattr(kernsift, n), "get_params") and n != "KernelLSPI"]
RECENT = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


def rows(dtype=np.float64):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 3)).astype(dtype)
    return X, np.sin(X[:, 0]).astype(dtype), (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)


def make(name):
    model = getattr(kernsift, name)()
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def learn(model, X):
    _, y, labels = rows()
    if isinstance(model, kernsift.KernelLSTD):
        return model.partial_fit(X, y, X)
    return model.fit(X, labels if is_classifier(model) else y)


def answers(model, X):
    names = ("decision_function", "predict_proba", "transform") if is_classifier(model) else ("predict", "transform")
    return {name: np.asarray(getattr(model, name)(X)) for name in names if hasattr(model, name)}


def frame_of(library, X):
    module = pytest.importorskip(library, reason=f"needs {library}")
    if library == "pyarrow":
        return module.table({n: X[:, i] for i, n in enumerate("abc")})
    return module.DataFrame(X, **({"columns": list("abc")} if library == "pandas" else {"schema": list("abc")}))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", PUBLIC)
def test_data_frames_are_taken_by_name(name, library):
    X, _, _ = rows()
    frame = frame_of(library, X)
    plain, model = learn(make(name), X), learn(make(name), frame)
    for method, values in answers(plain, X).items():
        np.testing.assert_array_equal(answers(model, frame)[method], values)
    if library != "pandas" and not RECENT:
        return  # scikit-learn before 1.9 sees the names of pandas only
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    method = "transform" if hasattr(model, "transform") else "predict"
    with pytest.raises(ValueError, match="feature names"):
        getattr(model, method)(frame.select(["b", "a", "c"]) if library != "pandas" else frame[["b", "a", "c"]])


@pytest.mark.parametrize("name", PUBLIC)
def test_float32_in_float32_out(name):
    X, _, _ = rows(np.float32)
    model = learn(make(name), X.astype(float))
    doubles = answers(model, X.astype(float))
    there = [library for library in ("pandas", "polars", "pyarrow") if importlib.util.find_spec(library)]
    for given in (X, np.asfortranarray(X), *(frame_of(library, X) for library in there)):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X has feature names")
            for method, values in answers(model, given).items():
                assert values.dtype == np.float32, method
                if name.startswith(("Online", "KRLS", "Subset")):  # kernels in single, coefficients up to 1e3
                    np.testing.assert_allclose(values, doubles[method], rtol=0, atol=2e-4)
                else:  # the arithmetic is double: rounded once, at the end
                    np.testing.assert_array_equal(values, doubles[method].astype(np.float32))
    assert all(values.dtype == np.float64 for values in doubles.values())
    if "return_std" in inspect.signature(type(model).predict if hasattr(model, "predict") else make).parameters:
        if getattr(model, "alpha_", None) == 0:
            model = learn(model.set_params(alpha=0.1), X)
        assert [part.dtype for part in model.predict(X, return_std=True)] == [np.float32, np.float32]
    if is_classifier(model):
        assert model.predict(X).dtype == model.classes_.dtype
        model.fit(X, np.where(X[:, 0] > 0, 1.0, 2.0))
        assert model.predict(X).dtype == np.float64  # labels are not rows


def test_a_keyword_is_an_input_too():
    X, _, _ = rows(np.float32)
    assert learn(make("KernelLSTD"), X).predict(S=X).dtype == np.float32
    assert learn(make("OnlineLSSVMRegressor"), X).predict(X=X).dtype == np.float32


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_transformer_gives_named_columns(library):
    module = pytest.importorskip(library, reason=f"needs {library}")
    X, y, _ = rows()
    selector = kernsift.FeatureVectorSelector(n_components=4, random_state=0).fit(X)
    names = [f"featurevectorselector{i}" for i in range(4)]
    assert selector.get_feature_names_out().tolist() == names
    out = selector.set_output(transform=library).transform(X)
    assert isinstance(out, module.DataFrame)
    assert list(out.columns) == names
    pipeline = make_pipeline(clone(selector), Ridge()).set_output(transform=library).fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == names


@pytest.mark.parametrize("name", [n for n in PUBLIC if hasattr(getattr(kernsift, n), "fit")])
def test_weights_are_routed(name):
    X, y, labels = rows()
    weight = np.ones(len(X))
    weight[:20] = 0.0
    with config_context(enable_metadata_routing=True):
        model = make(name)
        if "sample_weight" not in inspect.signature(model.fit).parameters:
            assert name.startswith("OROLS") or name in ("KRLSRegressor", "KernelLSTD")
            return
        model.set_fit_request(sample_weight=True)
        of_front = name in ("KernelClassifier", "KernelRegressor")
        width = {"settings": {"gamma": 0.5}} if of_front else {"gamma": 0.5}
        target = labels if is_classifier(model) else y
        if hasattr(model, "predict"):
            scaler = StandardScaler().set_fit_request(sample_weight=False)
            model.set_score_request(sample_weight=True)
            pipeline = make_pipeline(scaler, model.set_params(**width))
            if RECENT:  # the search of scikit-learn 1.6 does not route weights to a pipeline's score
                search = GridSearchCV(
                    pipeline, {f"{name.lower()}__{key}": [value] for key, value in width.items()}, cv=2
                )
                pipeline = search.fit(X, target, sample_weight=weight).best_estimator_
            else:
                pipeline.fit(X, target, sample_weight=weight)
            routed, scaled = pipeline[-1], pipeline[0].transform(X)
        else:
            routed, scaled = make_pipeline(model).fit(X, target, sample_weight=weight)[-1], X
    direct = clone(model).set_params(**(width if hasattr(model, "predict") else {}))
    direct.fit(scaled, target, sample_weight=weight)
    for method, values in answers(direct, scaled).items():
        np.testing.assert_array_equal(answers(routed, scaled)[method], values)
    assert direct.basis_indices_.min() >= 20  # rows of weight zero are no kernels


@pytest.mark.parametrize("name", PUBLIC)
def test_the_page_links_to_our_documentation_and_to_no_other(name, monkeypatch):
    X, _, _ = rows()
    model = learn(make(name), X)
    assert "scikit-learn.org" not in model._get_doc_link()
    monkeypatch.setattr(_estimator, "documentation_url", lambda: "https://docs.example")
    assert model._get_doc_link() == f"https://docs.example/api/generated/kernsift.{name}.html"
    page = estimator_html_repr(model)
    assert f'href="https://docs.example/api/generated/kernsift.{name}.html' in page


def test_the_address_comes_from_the_metadata(monkeypatch):
    from email.message import Message

    found = Message()
    found["Project-URL"] = "Source, https://code.example"
    found["Project-URL"] = "Documentation, https://docs.example/stable/"
    for metadata, url in ((found, "https://docs.example/stable"), (Message(), "")):
        monkeypatch.setattr(_estimator, "metadata", lambda _, found=metadata: found)
        _estimator.documentation_url.cache_clear()
        assert _estimator.documentation_url() == url
    _estimator.documentation_url.cache_clear()

"""Random forests as plain arrays: scikit-learn grows them, everything else happens here."""

# scikit-learn publishes no annotations, and kernels lose their types to the decorator.

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from failgym.compiled import njit
from failgym.predictors.learned import Arrays
from failgym.predictors.models import packages_of

__all__ = ["Forest", "Growth"]

Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]

MOST_SEED = 2**32
"""Seeds of scikit-learn are less than this."""


@dataclass(frozen=True)
class Growth:
    """How a forest is grown."""

    trees: int
    """Trees in the forest."""
    leaf: int
    """Least rows in a leaf."""
    tree_rows: int
    """Most rows that are drawn for a tree, with replacement."""
    ratio: float
    """Share of the rows of the most frequent class that is kept, in (0, 1]."""
    seed: int
    """Different seeds grow independent forests."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees that part rows of features; the nodes of all trees in one list.

    A row goes left where its feature is at most the threshold. Children come after their parent.
    """

    root: Ints32
    """[trees] The root of each tree."""
    left: Ints32
    """[nodes] Child on the left; -1 in a leaf."""
    right: Ints32
    """[nodes] Child on the right; -1 in a leaf."""
    feature: Ints32
    """[nodes] The feature that parts; -1 in a leaf."""
    threshold: Floats32
    """[nodes] Where it parts; 0 in a leaf."""
    share: Floats32
    """[nodes, classes] Shares of the classes among the rows that came to the node."""
    importance: Floats
    """[features] Mean decrease of impurity by each feature, which sum to 1; 0 if nothing parts."""

    @classmethod
    def grow(cls, rows: Floats32, label: Ints, classes: int, growth: Growth) -> Self:
        """Grow a forest on rows of features and their classes, 0 to ``classes - 1``.

        The share of a class in a leaf follows the rows that were kept: a ``ratio`` below 1 raises
        the shares of all classes but the most frequent one. Raises ValueError if there are no rows.
        """
        if not len(rows):
            raise ValueError("a forest: expected at least one row to learn from")
        kept = _kept(label, growth)
        rows, label = rows[kept], label[kept]
        varied = np.flatnonzero((rows != rows[0]).any(axis=0))
        model = _fitted(rows[:, varied] if len(varied) else rows[:, :1], label, growth)
        trees = [_tree(part.tree_, model.classes_, classes) for part in model.estimators_]
        return cls(**_joined(trees, varied), importance=_importance(model, varied, rows.shape[1]))

    @classmethod
    def certain(cls, of: int, classes: int, features: int) -> Self:
        """The forest that always says one class."""
        none = np.full(1, -1, dtype=np.int32)
        share = np.eye(classes, dtype=np.float32)[[of]]
        root, threshold = np.zeros(1, np.int32), np.zeros(1, np.float32)
        return cls(root, none, none, none, threshold, share, np.zeros(features))

    def shares(self, rows: Floats32) -> Floats:
        """The mean shares of the classes over the trees, float64 [rows, classes]."""
        total = np.zeros((len(rows), self.share.shape[1]))
        parts = (self.root, self.left, self.right, self.feature, self.threshold, self.share)
        _walk(*parts, np.ascontiguousarray(rows, dtype=np.float32), total)
        return total / len(self.root)

    def arrays(self, prefix: str) -> dict[str, npt.NDArray[Any]]:
        """The forest as arrays, their names preceded by ``prefix``."""
        return {f"{prefix}{part.name}": getattr(self, part.name) for part in fields(self)}

    @classmethod
    def restore(cls, arrays: Arrays, prefix: str, classes: int, features: int) -> Self:
        """The forest that `arrays` returned. Raises ValueError, in one line, if it is not one."""
        try:
            parts = [arrays[f"{prefix}{part.name}"] for part in fields(cls)]
        except KeyError as error:
            raise ValueError(f"{error.args[0]} is missing") from error
        forest = cls(*parts)
        if not (_shaped(forest, classes, features) and _ordered(forest, features)):
            raise ValueError(f"{prefix}*: expected trees of {features} features, {classes} classes")
        if not np.all((forest.share >= 0) & (forest.share <= 1)):
            raise ValueError(f"{prefix}share: expected shares in [0, 1]")
        if not (np.isfinite(forest.threshold).all() and np.isfinite(forest.importance).all()):
            raise ValueError(f"{prefix}threshold, {prefix}importance: expected finite numbers")
        return forest


def _kept(label: Ints, growth: Growth) -> Ints:
    """The rows to learn from: of the most frequent class a share, of the others all."""
    if growth.ratio == 1.0:
        return np.arange(len(label))
    frequent = label == np.bincount(label).argmax()
    count = int(np.ceil(growth.ratio * frequent.sum()))
    rng = np.random.default_rng(growth.seed)
    chosen = rng.choice(np.flatnonzero(frequent), count, replace=False)
    return np.sort(np.concatenate((chosen, np.flatnonzero(~frequent))))


def _fitted(rows: Floats32, label: Ints, growth: Growth) -> Any:
    """The forest as scikit-learn has it. Raises MissingPackage if it is not installed."""
    with packages_of("random_forest"):
        from sklearn.ensemble import RandomForestClassifier
    model: Any = RandomForestClassifier(
        n_estimators=growth.trees,
        min_samples_leaf=growth.leaf,
        max_samples=min(growth.tree_rows, len(rows)),
        n_jobs=1,
        random_state=growth.seed % MOST_SEED,
    )
    return model.fit(rows, label)


def _tree(tree: Any, known: Ints, classes: int) -> dict[str, npt.NDArray[Any]]:
    """The nodes of one tree; the shares are of all classes, 0 for those that it has not seen."""
    leaf = tree.children_left < 0
    value = tree.value[:, 0, :]
    share = np.zeros((tree.node_count, classes), dtype=np.float32)
    share[:, known] = value / value.sum(axis=1, keepdims=True)
    return {
        "left": tree.children_left,
        "right": tree.children_right,
        "feature": np.where(leaf, -1, tree.feature),
        "threshold": np.where(leaf, np.float32(0), _rounded_down(tree.threshold)),
        "share": share,
    }


def _rounded_down(threshold: Floats) -> Floats32:
    """The largest float32 that is not above: float32 features compare with it as with the exact."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)


def _joined(trees: list[dict[str, npt.NDArray[Any]]], varied: Ints) -> dict[str, Any]:
    """The trees in one list of nodes, their features numbered among all features."""
    sizes = np.array([len(tree["left"]) for tree in trees])
    root = np.cumsum(sizes) - sizes
    whole = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
    leaf, shift = whole["feature"] < 0, np.repeat(root, sizes)
    for name in ("left", "right"):
        whole[name] = np.where(leaf, -1, whole[name] + shift).astype(np.int32)
    whole["feature"] = np.where(leaf, -1, np.append(varied, -1)[whole["feature"]]).astype(np.int32)
    return {"root": root.astype(np.int32), **whole}


def _importance(model: Any, varied: Ints, features: int) -> Floats:
    importance = np.zeros(features)
    if len(varied):
        importance[varied] = model.feature_importances_
    return importance


def _shaped(forest: Forest, classes: int, features: int) -> bool:
    """Whether the arrays have the shapes and types of a forest."""
    nodes = forest.left.shape
    columns = (forest.left, forest.right, forest.feature, forest.threshold)
    integers = (forest.root, forest.left, forest.right, forest.feature)
    return (
        len(nodes) == 1
        and forest.root.ndim == 1
        and len(forest.root) > 0
        and all(column.shape == nodes for column in columns)
        and all(column.dtype == np.int32 for column in integers)
        and forest.threshold.dtype == forest.share.dtype == np.float32
        and forest.share.shape == (*nodes, classes)
        and forest.importance.shape == (features,)
        and forest.importance.dtype == np.float64
    )


def _ordered(forest: Forest, features: int) -> bool:
    """Whether every walk from a root ends in a leaf, and asks for features that there are."""
    node = np.arange(len(forest.left))
    inner = forest.feature >= 0
    children = np.stack((forest.left, forest.right))[:, inner]
    return bool(
        np.all(children > node[inner])
        and np.all(children < len(node))
        and np.all((forest.root >= 0) & (forest.root < len(node)))
        and np.all(forest.feature < features)
    )


@njit(cache=True)
def _walk(
    root: Ints32,
    left: Ints32,
    right: Ints32,
    feature: Ints32,
    threshold: Floats32,
    share: Floats32,
    rows: Floats32,
    total: Floats,
) -> None:
    """Add to `total` [rows, classes] the shares of the leaf that each row reaches in each tree."""
    for tree in range(len(root)):
        for row in range(len(rows)):
            node = root[tree]
            while feature[node] >= 0:
                here = rows[row, feature[node]] <= threshold[node]
                node = left[node] if here else right[node]
            for label in range(share.shape[1]):
                total[row, label] += share[node, label]

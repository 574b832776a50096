"""Every public function of floors 0 and 1: inputs keep their bytes, bad ones raise the family only."""

import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
import sympy

from vitbias import (
    alignment,
    alphabets,
    architecture,
    arrays,
    attention,
    augmentation,
    automorphisms,
    budgets,
    conventions,
    counts,
    distillation,
    errors,
    exact_attention,
    formatting,
    formula,
    gauge,
    graphs,
    hierarchy,
    interface,
    lattice,
    learning,
    orbits,
    patches,
    patterns,
    positions,
    rank,
    reach,
    resizing,
    rotary,
    stems,
    symmetry,
    twins,
    variance,
    vit,
    windows,
)
from vitbias.errors import ValuesError, VitbiasError, describe

MODULES = (
    *(alignment, alphabets, architecture, arrays, attention, augmentation, automorphisms, budgets),
    *(conventions, counts, distillation, errors, exact_attention, formatting, formula, gauge),
    *(
        graphs,
        hierarchy,
        interface,
        lattice,
        learning,
        orbits,
        patches,
        patterns,
        positions,
        rank,
        reach,
    ),
    *(resizing, rotary, stems, symmetry, twins, variance, vit, windows),
)
RNG = np.random.default_rng(17)
WHOLE = RNG.integers(-3, 4, (5, 3))
REAL = RNG.normal(size=(5, 3))
SMALL = architecture.plain_vit(4, 2, 6, 1, 3, 2)
WEIGHTS = vit.initial_weights(SMALL, RNG)
HEADS = WEIGHTS.blocks[0].attention
MASK = np.tri(5, dtype=bool)
PAIRED, PHASES = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 2, 2))
ROW = np.array([[1, 2, 3]])
TURNS = np.array([np.roll(np.eye(3, dtype=int), turn, axis=0) for turn in range(3)])
LEDGER = budgets.Ledger(*range(1, 8))
STAGE = architecture.Stage(2, 6, 3)
PIPELINE = architecture.Architecture("small", 4, 2, [STAGE])
WORK = conventions.work(PIPELINE)

# function: one call that works; the arguments that carry a caller's data come first
CALLS = {
    alphabets.entropy_bound: dict(squared_lengths=np.array([14, 9]), raw=3, pixel_values=4),
    alphabets.exact_digits: dict(name="fp32"),
    alphabets.float_values: dict(bits=16, mantissa=7),
    alphabets.pigeonhole: dict(raw=5, width=2, values=97, pixel_values=7),
    alphabets.siegel_bound: dict(raw=5, width=2, largest=3),
    alignment.box_law: dict(height=8, width=6, patch=4),
    alignment.change: dict(before=REAL, after=WHOLE, unit=REAL),
    alignment.contained_share: dict(length=3, patch=4, side=8),
    alignment.expected_patches: dict(length=3, patch=4, side=8, continuous=False),
    alignment.patches_met: dict(length=3, patch=4, first=2),
    alignment.patches_met_law: dict(length=3, patch=4),
    architecture.plain_vit: dict(image=4, patch=2, width=6, depth=1, heads=3, classes=2),
    architecture.Architecture: dict(
        **dict(stages=[STAGE], name="small", image_px=np.array([6, 4]), patch_px=2, classes=3),
        **dict(position="learned", class_token=True, distillation_token=True, registers=1),
        **dict(position_extra=2, read_out="class", representation=5, channels=3, qkv_bias=True),
        **dict(patch_bias=True, patch_norm=False, final_norm=True, layer_scale=False),
        **dict(border="pad", supervision="hard distillation", teacher="a", source="b"),
    ),
    architecture.require_shift: dict(window=3, shift=1),
    architecture.swin_window: dict(side=8, window=3, shift=1),
    architecture.Stage: dict(depth=2, width=6, heads=3, mlp_ratio=4, window=7, shift=3),
    arrays.as_array: dict(value=REAL, field="x"),
    arrays.require_alike: dict(named=("x", WHOLE, "rows columns")),
    arrays.require_array: dict(value=REAL, field="x", axes="rows columns"),
    arrays.require_float64: dict(value=WHOLE, field="x", axes="rows columns"),
    arrays.require_floats: dict(value=WHOLE, field="x", axes="rows columns"),
    arrays.require_fractions: dict(value=WHOLE, field="x", axes="rows columns", floats=True),
    arrays.require_integers: dict(value=WHOLE, field="x", axes="rows columns"),
    arrays.require_numbers: dict(value=REAL, field="x", axes="rows columns"),
    arrays.require_in_range: dict(value=WHOLE, low=-9, high=9, field="x", axes="rows columns"),
    attention.affine: dict(tokens=REAL, weight=REAL[:2], bias=REAL[:2, 0], field="x", rows=2),
    attention.attend: dict(query=REAL, key=WHOLE, value=REAL, mask=MASK, scale=0.5),
    attention.attention: dict(query=REAL, key=WHOLE, value=REAL, mask=MASK, scale=0.5),
    attention.multi_head: dict(tokens=WEIGHTS.position, heads=3, mask=MASK, weights=HEADS),
    attention.require_mask: dict(mask=MASK, queries=5, keys=5),
    attention.softmax: dict(scores=REAL @ REAL.T, mask=MASK),
    distillation.cross_entropy: dict(student=REAL, target=np.full((5, 3), 1 / 3)),
    distillation.distillation: dict(
        student=REAL,
        target=np.full((5, 3), 1 / 3),
        teacher=WHOLE,
        temperature=3,
        weight=0.1,
        direction="student-teacher",
        divide_by_classes=True,
    ),
    distillation.fuse_mean_logits: dict(first=REAL, second=WHOLE),
    distillation.fuse_sum_softmax: dict(first=REAL, second=WHOLE),
    distillation.hard_distillation: dict(
        student=REAL,
        label=np.array([0, 1, 2, 0, 1]),
        teacher_label=np.array([2, 1, 0, 0, 1]),
        smoothing=0.1,
    ),
    distillation.logit_matching_limit: dict(student=WHOLE, teacher=WHOLE[::-1]),
    distillation.smooth_label: dict(
        label=np.array([0, 1, 2]), classes=3, smoothing=0.1, shared="others"
    ),
    distillation.soft_distillation: dict(
        student=REAL, teacher=WHOLE, temperature=3, direction="student-teacher"
    ),
    distillation.soft_weight: dict(weight=0.1, temperature=3, classes=1000),
    augmentation.augmented: dict(
        inputs=WHOLE,
        targets=REAL,
        group=TURNS,
        target_group=TURNS.astype(float),
        part=np.array([1, 0]),
    ),
    augmentation.orbit_average: dict(
        values=REAL[:3], group=TURNS, target_group=TURNS.astype(float)
    ),
    budgets.compare: dict(first=LEDGER, second=LEDGER, tolerance=1),
    budgets.fit: dict(architecture=PIPELINE, budget="macs", target=10**7, by="width"),
    budgets.ledger: dict(
        params=3,
        macs=7,
        tokens=5,
        attention_bytes=2,
        images=11,
        epochs=3,
        batch=2,
        last_batch="keep",
        teacher_macs=1,
    ),
    budgets.match_depth: dict(function=lambda d: 3 * d, target=30),
    budgets.match_width: dict(function=lambda d: d * d, target=30, step=2),
    budgets.ratios: dict(first=LEDGER, second=LEDGER),
    conventions.Convention: dict(weights={"mlp": 2, "products": 1}),
    conventions.convert: dict(
        count=conventions.operations(PIPELINE, "flops"),
        source="flops",
        target="macs",
        done=WORK,
    ),
    conventions.matching: dict(count=5, done=WORK),
    conventions.operations: dict(architecture=PIPELINE, convention="macs and norms"),
    conventions.released_swin_operations: dict(
        architecture=architecture.Architecture(
            "windows",
            8,
            2,
            [architecture.Stage(2, 6, 3, window=2)],
            class_token=False,
            read_out="mean",
            classes=5,
            patch_norm=True,
        )
    ),
    conventions.work: dict(architecture=PIPELINE),
    counts.attention_bytes: dict(tokens=5, heads=3, depth=2, bytes_per_value=4),
    counts.block_macs: dict(tokens=8, width=3, ratio=4, window=2),
    counts.block_params: dict(width=3, ratio=4),
    counts.flops: dict(macs=5),
    counts.head_macs: dict(width=3, classes=2),
    counts.head_params: dict(width=3, classes=2),
    counts.macs: dict(architecture=PIPELINE),
    counts.merging_macs: dict(tokens=8, width=3),
    counts.offset_mlp_macs: dict(window=7, heads=3),
    counts.offset_mlp_params: dict(heads=3),
    counts.pooling_params: dict(width=3, ratio=4),
    counts.query_macs: dict(tokens=5, width=3),
    counts.talking_macs: dict(tokens=5, heads=3),
    counts.talking_params: dict(heads=3),
    counts.merging_params: dict(width=3, post_norm=True),
    counts.mlp_macs: dict(tokens=5, width=3, ratio=4, gated=True),
    counts.mlp_params: dict(width=3, ratio=4, gated=True),
    counts.msa_macs: dict(tokens=5, width=3),
    counts.msa_params: dict(width=3, qkv_bias=True, key_bias=True),
    counts.params: dict(architecture=PIPELINE),
    counts.patch_macs: dict(patches=5, raw=12, width=3),
    counts.patch_params: dict(raw=12, width=3, bias=True),
    counts.relative_table_params: dict(window=7, heads=3, columns=5),
    counts.training_flops: dict(macs=5, images=2),
    counts.vit_macs: dict(
        patches=5, raw=12, width=3, depth=2, classes=2, ratio=4, extra=1, heads_out=1
    ),
    counts.vit_params: dict(
        patches=5, raw=12, width=3, depth=2, classes=2, ratio=4, extra=1, heads_out=1
    ),
    counts.window_msa_macs: dict(tokens=8, width=3, window=2),
    automorphisms.automorphisms: dict(matrix=MASK),
    automorphisms.interchangeable: dict(matrix=MASK),
    automorphisms.partition_order: dict(sizes=[2, 2, 3]),
    automorphisms.shifted_order: dict(height=4, width=6, window=2, shift=1),
    errors.describe: dict(value=REAL),
    errors.require_choice: dict(value="a", field="x", known=["a", "b"]),
    errors.require_instance: dict(value=0.5, field="x", kind=float),
    errors.require_number: dict(value=0.5, field="x"),
    errors.require_sequence: dict(value=[1, 2], field="x"),
    errors.require_size: dict(value=5, field="x"),
    exact_attention.exact_attention: dict(query=WHOLE, key=WHOLE, value=WHOLE, mask=MASK),
    exact_attention.exact_softmax: dict(scores=WHOLE @ WHOLE.T, mask=MASK),
    exact_attention.fractions: dict(value=WHOLE.astype(object)),
    formatting.below: dict(value=1e-17, bound=1e-12),
    formatting.fmt: dict(value=REAL, digits=3),
    formatting.table: dict(header=["a", "b", "c"], rows=REAL, digits=3),
    formula.as_size: dict(value=5, field="x"),
    formula.cells: dict(side=7, cell=2, border="pad", field="x"),
    formula.exact_quotient: dict(whole=6, part=2, field="x"),
    formula.is_symbolic: dict(values=REAL),
    formula.maximum: dict(first=2, second=3),
    formula.minimum: dict(first=2, second=3),
    formula.raw_dim: dict(patch=2, channels=3),
    graphs.Merging: dict(labels=np.array([0, 1, 1, 0, 2])),
    graphs.Partition: dict(labels=np.array([5, 1, 1, 5, 7])),
    graphs.as_graphs: dict(field="masks", value=np.array([MASK, MASK.T])),
    hierarchy.block_graphs: dict(architecture=PIPELINE, shift="none"),
    hierarchy.coverages: dict(architecture=PIPELINE, shift="none"),
    hierarchy.merging_graph: dict(height=4, width=6),
    hierarchy.fields: dict(architecture=PIPELINE, shift="none"),
    hierarchy.global_block: dict(architecture=PIPELINE, shift="none"),
    hierarchy.merge_patches: dict(tokens=RNG.normal(size=(5, 4, 2)), border="pad"),
    hierarchy.merging_collision: dict(weight=ROW, scale=[1, 2, 1], merged=[1, 2, 5]),
    hierarchy.merging_mask: dict(height=4, width=6),
    hierarchy.merging_nullity: dict(width=3),
    hierarchy.stage_table: dict(architecture=PIPELINE),
    interface.collision: dict(weight=ROW, patch=np.array([9, 8, 7]), low=0, high=255),
    rank.certified_rank: dict(weight=REAL, exact=True),
    rank.exact_rank: dict(weight=REAL),
    rank.rank_from_sizes: dict(width=3, raw=5),
    rank.integer_rows: dict(weight=REAL),
    interface.fold_normalisation: dict(
        weight=REAL[:2], bias=REAL[0, :2], mean=REAL[1], std=REAL[2] ** 2 + 1
    ),
    interface.min_nullity: dict(raw=5, width=3),
    interface.null_vector: dict(weight=ROW),
    interface.null_vectors: dict(weight=WHOLE.astype(object)),
    rank.numerical_rank: dict(weight=REAL, rtol=1e-9),
    lattice.collide: dict(
        weight=ROW.astype(object),
        patches=np.array([[9, 8, 7]], dtype=object),
        targets=np.array([[8, 7, 8]]),
        low=0,
        high=255,
        steps=3,
    ),
    lattice.integer_product: dict(left=WHOLE, right=WHOLE.T.astype(object)),
    lattice.kernel_lattice: dict(weight=ROW.astype(object)),
    learning.constrained_least_squares: dict(inputs=WHOLE, targets=WHOLE, basis=TURNS),
    learning.from_teacher: dict(inputs=WHOLE, teacher=REAL),
    learning.gradient_descent: dict(
        inputs=WHOLE, targets=WHOLE, initial=TURNS[0], rate=Fraction(1, 99), steps=2
    ),
    learning.gradient_descent_limit: dict(inputs=WHOLE, targets=REAL, initial=TURNS[0]),
    learning.least_squares: dict(inputs=WHOLE, targets=WHOLE),
    learning.rate_bound: dict(inputs=WHOLE),
    learning.ridge: dict(inputs=WHOLE, targets=WHOLE, penalty=Fraction(1, 2)),
    patches.grid_shape: dict(height=8, width=6, patch=2, border="pad"),
    patches.patch_bands: dict(pictures=RNG.normal(size=(7, 5, 1)), patch=2, border="pad"),
    patches.patchify: dict(pictures=RNG.normal(size=(7, 5, 1)), patch=2, border="pad"),
    patches.token_count: dict(height=8, width=6, patch=2),
    patches.unpatchify: dict(patches=RNG.normal(size=(6, 4)), height=4, width=6, patch=2),
    positions.grid_table: dict(grid=RNG.normal(size=(2, 3, 4))),
    positions.learned_table: dict(tokens=3, width=2, scale=0.5, rng=RNG),
    positions.relative_bias: dict(table=REAL[:, :2], rows=1, columns=3),
    positions.relative_index: dict(rows=2, columns=3),
    resizing.resize_operator: dict(old=2, new=3, method="half-pixel cubic"),
    resizing.round_trip: dict(old=2, new=3, method="half-pixel cubic"),
    resizing.white_energy: dict(old=2, new=3, method="half-pixel cubic"),
    resizing.resize_table: dict(table=REAL, old=2, new=3, method="half-pixel cubic", kept=1),
    positions.require_origin: dict(origin=np.array([2, -3])),
    positions.row_column_rank: dict(rows=3, columns=4, width=5),
    positions.row_column_sum: dict(by_row=REAL, by_column=WHOLE),
    positions.row_column_table: dict(by_row=REAL, by_column=WHOLE),
    positions.sine_cosine_line: dict(tokens=3, width=4, temperature=100.0, origin=2),
    positions.sine_cosine_table: dict(
        **dict(origin=np.array([1, -2]), rows=2, columns=3, width=8, temperature=100.0)
    ),
    rotary.exact_phases: dict(turns=np.array([[0, 1]]), origin=np.array([1, 0]), rows=2, columns=2),
    rotary.rotary_phases: dict(
        **dict(origin=np.array([1, 0]), rows=2, columns=2, width=4, temperature=9.0)
    ),
    rotary.rotary_scores: dict(query=PAIRED, key=PAIRED, phases=PHASES),
    rotary.rotate: dict(vectors=PAIRED, phases=PHASES),
    rotary.torus_phases: dict(origin=np.array([1, 0]), rows=2, columns=2, width=4),
    rotary.turn_classes: dict(phases=PHASES),
    patterns.axial_mask: dict(height=2, width=3),
    patterns.causal_mask: dict(tokens=5),
    patterns.dilated_mask: dict(height=2, width=3, step=2),
    patterns.local_mask: dict(height=2, width=3, radius=1),
    patterns.with_hubs: dict(mask=MASK, hubs=2),
    reach.compose: dict(masks=np.array([MASK, MASK])),
    reach.coverage: dict(masks=np.array([MASK, MASK.T])),
    reach.depth: dict(masks=np.array([MASK, MASK.T])),
    reach.first_global: dict(masks=np.array([MASK, MASK.T])),
    reach.frontier: dict(masks=np.array([MASK, MASK.T]), token=2),
    reach.grid_depth: dict(height=8, width=6, window=3, shift=1, first="shifted", border="ragged"),
    reach.line_depth: dict(side=8, window=3, shift=1, first="shifted", border="ragged"),
    reach.line_reach: dict(labels=np.array([[0, 0, 1, 1, 2], [5, 3, 3, 4, 4]])),
    reach.path_counts: dict(masks=np.array([MASK, MASK.T])),
    reach.product_depth: dict(rows=np.array([MASK]), columns=np.array([MASK.T])),
    reach.shifted_depth: dict(side=8, window=3, shift=1, first="shifted"),
    **{
        function: dict(generators=np.array([[1, 0, 2], [1, 2, 0]]), points=3)
        for function in (orbits.commutant_basis, orbits.commutant_dimension)
    },
    **{
        function: dict(generators=np.array([[1, 0, 2], [1, 2, 0]]), points=3)
        for function in (orbits.commutation_nullity, orbits.pair_orbits, orbits.point_orbits)
    },
    orbits.exchangeable_dimension: dict(points=3, fixed=1),
    orbits.grid_dimension: dict(height=3, width=3, flip=False, square=True),
    orbits.layer_params: dict(pairs=3, points=1, d_in=5, d_out=7),
    orbits.multisets: dict(tokens=5, kinds=3),
    gauge.change_gauge: dict(
        **dict(scores=TURNS[:, :2, :2] + 2 * np.eye(2), values=np.ones((3, 2, 2)) + np.eye(2)),
        **dict(key_bias=np.ones(6), value_bias=np.ones(6), weights=HEADS, heads=3),
    ),
    gauge.identifiable: dict(rows=5, columns=3, rank=2),
    gauge.product_jacobian: dict(left=WHOLE, right=WHOLE),
    gauge.redundant_params: dict(width=6, heads=3, depth=2),
    stems.frequency_classes: dict(rows=2, columns=3),
    stems.stem_matrix: dict(
        weight=np.arange(8).reshape(2, 2, 2, 1), height=4, width=6, stride=2, padding="circular"
    ),
    stems.stem_nullity: dict(
        height=4, width=6, stride=2, channels=3, kernel=2, embed=5, padding="circular"
    ),
    stems.stem_rank: dict(weight=np.arange(8).reshape(2, 2, 2, 1), height=4, width=6, stride=2),
    stems.stem_symbols: dict(
        weight=np.arange(8).reshape(2, 2, 2, 1),
        height=4,
        width=6,
        stride=2,
        prime=7,
        frequencies=np.array([[1, 2], [0, 1]]),
    ),
    symmetry.compose: dict(first=np.array([1, 0, 2]), second=np.array([1, 2, 0])),
    symmetry.equivariance_defect: dict(tokens=WHOLE, perm=np.arange(5)[::-1], function=lambda x: x),
    symmetry.generated: dict(generators=np.array([[1, 0, 2], [1, 2, 0]]), points=3),
    symmetry.inverse: dict(perm=np.array([1, 0, 2])),
    symmetry.permutation_matrix: dict(perm=np.array([1, 0, 2])),
    symmetry.permutations: dict(points=3),
    symmetry.permute: dict(tokens=WHOLE, perm=np.arange(5)[::-1]),
    symmetry.require_permutation: dict(perm=np.array([1, 0, 2]), points=3),
    twins.rational_twins: dict(
        weight=REAL[:2],
        patches=WHOLE + 3,
        targets=WHOLE[::-1] + 3,
        directions=2,
        low=0,
        high=6,
    ),
    twins.rounding_drift: dict(
        weight=REAL[:2], twins=twins.RationalTwins(WHOLE, WHOLE.astype(object) * 2, 2, REAL[:, 0])
    ),
    variance.integer_covariance: dict(samples=WHOLE),
    variance.linear_residual: dict(
        covariance=WHOLE.T @ WHOLE, projection=WHOLE[:2], direction=WHOLE[3]
    ),
    variance.pca_bound: dict(covariance=WHOLE.T @ WHOLE, width=2),
    variance.pca_curve: dict(covariance=REAL.T @ REAL),
    variance.retained_variance: dict(covariance=REAL.T @ REAL, projection=REAL[:2]),
    vit.forward: dict(pictures=RNG.normal(size=(4, 4, 3)), weights=WEIGHTS, model=SMALL),
    vit.gelu: dict(values=REAL),
    vit.initial_weights: dict(rng=RNG, scale=0.5, model=SMALL),
    vit.layer_norm: dict(tokens=REAL, gain=REAL[0], bias=REAL[1]),
    vit.plain_stage: dict(model=SMALL),
    windows.attention_mask: dict(height=8, width=6, window=2, shift=1, border="pad", wrap=False),
    windows.window_graph: dict(height=8, width=6, window=2, shift=1, border="pad", wrap=False),
    windows.global_pairs: dict(tokens=5),
    windows.groups: dict(side=8, window=3, shift=1, border="ragged", wrap=False),
    windows.merge: dict(windows=RNG.normal(size=(6, 4, 2)), height=4, width=6, window=2),
    windows.padded_pairs: dict(side=8, window=3),
    windows.partition: dict(tokens=RNG.normal(size=(4, 6, 2)), window=2),
    windows.query_pairs: dict(side=8, window=3),
    windows.ragged_pairs: dict(side=8, window=3, shift=1),
    windows.released_mask: dict(height=8, width=6, window=2, shift=1),
    windows.require_window: dict(side=8, window=3, shift=1, border="pad"),
    windows.shift: dict(tokens=RNG.normal(size=(4, 6, 2)), s=1),
    windows.shifted_pairs: dict(side=8, window=4, shift=1),
    windows.window_pairs: dict(tokens=8, window=3),
}

# what the library itself passes, never a caller's data; single weights are spoiled in test_vit
# classes that check
VALIDATED = (
    *(architecture.Architecture, architecture.Stage, conventions.Convention),
    *(graphs.Merging, graphs.Partition),
)
STRUCTURE = {"field", "named", "axes", "floats", "known", "kind", "function"}


def public_functions():
    for module in MODULES:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) or thing in VALIDATED:
                yield thing


def hostile():
    """Fresh (label, value) pairs each time: a generator is consumed."""
    x = sympy.Symbol("x")
    grid = np.ones((5, 3))
    holed, endless = grid.copy(), grid.copy()
    holed[3, 1], endless[0, 2] = np.nan, -np.inf
    inside, deep = [], []
    inside.append(inside)
    for _ in range(10**5):
        deep = [deep]
    plain = [
        *(inside, deep),
        *(None, True, False, 0, -1, 1, 2, 5, 2**80, -(2**80), 10**5000, -(10**5000)),
        *(16.0, 16.5, -0.0, 1e308, 5e-324, float("nan"), float("inf"), 1j),
        *("", "16", "pad", "\u2028" * 10**5, b"16", Fraction(1, 2), Fraction(10**5000), Decimal(1)),
        *(date(2000, 1, 1), int, len, object(), {}, {1}, {"a": 1}, range(3), (1, 2)),
        *([], [[]], [[], []], [[1], [1, 2]], [1, [2, 3]], [None], [2**80, -1], [[2**80, 1, 1]]),
        *([[True, 2, 3]], ["a", 1, 2], [[1, 2, "3"]], [[1, None, 2]], [[10**5000, 1, 2]]),
        *(np.int8(-5), np.uint64(3), np.float32(2), np.True_, x, x > 0, sympy.Interval(0, x)),
        *(sympy.pi, sympy.oo, sympy.Matrix([[x, 1]]), (i for i in (1, 0, 2))),
    ]
    made = {
        **{f"0-d {v}": np.array(v) for v in (3, 3.5, True, None, "a")},
        **{f"shape {s}": np.ones(s) for s in ((0,), (0, 3), (3,), (1, 1), (2, 3, 5), (1,) * 20)},
        "nan inside": holed,
        "inf inside": endless,
        "all huge": grid * 1e308,
        "all tiny": grid * 5e-324,
        "whole": grid.astype(int),
        "bytes": grid.astype(np.int8) * 100,
        "booleans": grid.astype(bool),
        "half": grid.astype(np.float16),
        "long double": grid.astype(np.longdouble) * np.longdouble(2) ** 5000,
        "complex": grid.astype(complex),
        "text": grid.astype(str),
        "objects": grid.astype(object),
        "nothing": np.full((5, 3), None),
        "masked": np.ma.array(grid, mask=grid > 0),
        "masked integers": np.ma.array([1, 0, 2], mask=[0, 1, 0]),
        "matrix": grid.view(np.matrix),
        "dates": np.zeros((5, 3), "M8[s]"),
        "durations": np.zeros((5, 3), "m8[ns]"),
        "records": np.zeros((5, 3), [("a", int)]),
        "symbols": np.array([[x, x], [x, x]]),
    }
    return [*((describe(value), value) for value in plain), *made.items()]


PROBES = [
    pytest.param(
        function, name, id=f"{function.__module__.split('.')[-1]}.{function.__name__}-{name}"
    )
    for function, arguments in CALLS.items()
    for name in arguments
    if name not in STRUCTURE
]


def call(function, arguments):
    if function in (formula.is_symbolic, arrays.require_alike):
        return function(*arguments.values())
    result = function(**arguments)
    return [*result] if function is symmetry.permutations else result


def arrays_in(value, depth=9):
    """All arrays of an argument, also those inside weights."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, tuple | list) and depth:
        return [array for item in value for array in arrays_in(item, depth - 1)]
    if is_dataclass(value):
        return [array for item in vars(value).values() for array in arrays_in(item, depth - 1)]
    return []


def snapshot(arguments):
    found = arrays_in(list(arguments.values()))
    return [(a.tobytes(), a.dtype, a.shape, a.strides, a.flags.writeable) for a in found]


def test_every_public_function_has_its_call():
    assert set(public_functions()) == set(CALLS)
    assert {module.__name__ for module in MODULES} == {
        import_module(function.__module__).__name__ for function in CALLS
    }


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_inputs_keep_their_bytes(function):
    arguments = CALLS[function]
    before = snapshot(arguments)
    call(function, arguments)
    assert snapshot(arguments) == before


@pytest.mark.parametrize("function", CALLS, ids=lambda f: f.__name__)
def test_layout_and_write_protection_do_not_matter(function):
    """Fortran order, gaps between the entries, reversed strides, read-only: the same numbers."""

    def spread(array):
        wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        gaps = wide[(slice(None, None, 2),) * array.ndim]
        gaps[...] = array
        return gaps

    def locked(array):
        array = array.copy()
        array.flags.writeable = False
        return array

    def backwards(array):
        flip = (slice(None, None, -1),) * array.ndim
        return array[flip].copy()[flip]

    arguments = CALLS[function]
    layouts = (np.asfortranarray, spread, locked, backwards)
    if function is vit.initial_weights or not any(
        isinstance(value, np.ndarray) for value in arguments.values()
    ):
        layouts = ()
    for layout in layouts:
        other = {
            name: layout(value) if isinstance(value, np.ndarray) else value
            for name, value in arguments.items()
        }
        expected, result = call(function, arguments), call(function, other)
        pairs = zip(numbers(expected), numbers(result), strict=True)
        for one, two in pairs:
            assert np.shape(one) == np.shape(two)
            if np.asarray(one).dtype.kind == "f":
                assert np.allclose(one, two, rtol=1e-12, atol=1e-14)
            else:
                assert np.array_equal(one, two)


def numbers(result):
    if is_dataclass(result):
        return numbers([*vars(result).values()])
    if isinstance(result, dict):
        return numbers([*result.values()])
    if isinstance(result, list | tuple | Iterator):
        return [number for item in result for number in numbers(item)]
    return [result]


@pytest.mark.parametrize(("function", "name"), PROBES)
def test_only_errors_of_the_family_come_out(function, name):
    for label, value in hostile():
        arguments = {**CALLS[function], name: value}
        before = snapshot(arguments)
        try:
            call(function, arguments)
        except VitbiasError as error:
            field, _, rest = str(error).partition(": expected ")
            assert field, label
            assert ", got " in rest, label
            assert len(str(error)) < 400, label
        except Exception as error:
            raise AssertionError(f"{name} = {label} raised {type(error).__name__}") from error
        assert snapshot(arguments) == before, label


@pytest.mark.parametrize("function", [None, 5, "f", WHOLE], ids=["none", "number", "text", "array"])
def test_a_function_is_called_only_if_it_is_one(function):
    with pytest.raises(ValuesError, match=r"^function: expected a function, got "):
        symmetry.equivariance_defect(function, WHOLE, range(5))

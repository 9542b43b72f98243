"""The scan of Flower (flwr).

Its documentation claims local differential privacy of ``LocalDpMod`` for what a client sends, and
of its strategies the Gaussian mechanism at client level, the sensitivity being that of one client
more or less. Client counts and the privacy budget of a strategy are parameters of its user.
"""

from dpaudit.extension.package import Package, PackageClaim, Parameters, Subject

_LOCAL = PackageClaim(
    epsilon="epsilon",
    delta="delta",
    relation="replace-record",
    where="Explanation of differential privacy, local: each client adds Gaussian noise to its "
    "update, of scale sensitivity * sqrt(2 log(1.25 / delta)) / epsilon, for "
    "(epsilon, delta)-differential privacy of what it sends",
)


def _compute_flower_mu(given: Parameters) -> float:
    return 1 / float(given["noise_multiplier"])


_CENTRAL = PackageClaim(
    mu=_compute_flower_mu,
    relation="add-remove-record",
    where="Explanation of differential privacy, central: noise of noise_multiplier times the "
    "clipping norm on the sum of the clients' updates, the sensitivity being the largest change by "
    "one record more or less; RdpAccountant composes a Gaussian event of this multiplier under "
    "add-or-remove-one without amplification",
)
_ADAPTIVE = PackageClaim(
    mu=_compute_flower_mu,
    relation="add-remove-record",
    where="docstring of the adaptive strategies: the algorithm of Andrew et al. (2019), in whose "
    "Theorem 1 noise_multiplier is that of a round's model and count together",
)
_FIXED = {"noise_multiplier": 1.0, "clipping_norm": 1.0, "num_sampled_clients": 10}
_LAYOUTS = ("vector", "scalar")
_RELATIONS = ("add-remove-record", "replace-record")  # what is claimed first


def _make_update_datasets(given: Parameters) -> tuple[object, ...]:
    return ([(0.5, 0.5, 0.25)], [(1.0, -2.0, 0.0)], [(0.0, 0.0, 1.0)])


def _make_client_datasets(given: Parameters) -> tuple[object, ...]:
    clients = int(given["num_sampled_clients"]) + 2
    return ([(0.1, 0.2)] * clients, [(-3.0, 0.5)] * clients)


_STRATEGIES = (
    ("ServerSideFixedClipping", "server_side_fixed_clipping"),
    ("ClientSideFixedClipping", "client_side_fixed_clipping"),
)
_ADAPTIVE_STRATEGIES = (
    ("ServerSideAdaptiveClipping", "server_side_adaptive_clipping"),
    ("ClientSideAdaptiveClipping", "client_side_adaptive_clipping"),
)
_LOCAL_SETTINGS = {"clipping_norm": 1.0, "sensitivity": 2.0, "epsilon": 0.5, "delta": 1e-5}

PACKAGE = Package(
    name="flower",
    distribution="flwr",
    code="dpaudit.scan.packages.flower.subjects",
    versions=("1.42.0",),
    requirements=("dp-accounting==0.6.0",),  # its extra "dp"
    home="https://github.com/flwrlabs/flower",
    subjects=(
        Subject(
            name="clientapp.mod.LocalDpMod",
            code="local_dp_mod",
            parameters=(
                *({**_LOCAL_SETTINGS, "layout": layout} for layout in _LAYOUTS),
                *({**_LOCAL_SETTINGS, "dtype": dtype} for dtype in ("float32", "float16")),
                {**_LOCAL_SETTINGS, "clipping_norm": 5.0, "sensitivity": 10.0, "dtype": "int64"},
                {**_LOCAL_SETTINGS, "epsilon": 6.0, "delta": 0.5},
            ),
            datasets=_make_update_datasets,
            bounds=(-1e3, 1e3),
            relations=("replace-record",),
            claims=(_LOCAL,),
            additive=True,
            about="What one client sends: the data is its update, as the only record.",
        ),
        *(
            Subject(
                name=f"serverapp.strategy.DifferentialPrivacy{name}",
                code=code,
                parameters=tuple({**_FIXED, "layout": layout} for layout in _LAYOUTS)
                + (({**_FIXED, "accounted": True},) if "server" in code else ()),
                datasets=_make_client_datasets,
                bounds=(-1e3, 1e3),
                relations=_RELATIONS,
                claims=(_CENTRAL,),
                trials=2_000,
                about="One round of training: the data is the update of every client, of whom "
                "num_sampled_clients are asked.",
            )
            for name, code in _STRATEGIES
        ),
        *(
            Subject(
                name=f"serverapp.strategy.DifferentialPrivacy{name}",
                code=code,
                parameters=(
                    {"noise_multiplier": 0.5, "num_sampled_clients": 30},
                    {
                        "noise_multiplier": 0.5,
                        "num_sampled_clients": 30,
                        "initial_clipping_norm": 1.0,
                        "clip_norm_lr": 2.0,
                    },
                ),
                datasets=_make_client_datasets,
                bounds=(-1e3, 1e3),
                relations=_RELATIONS,
                claims=(_ADAPTIVE,),
                trials=1_000,
                about="One round of training, with the clipping norm of the next.",
            )
            for name, code in _ADAPTIVE_STRATEGIES
        ),
    ),
)

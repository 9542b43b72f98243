"""The cards of the algorithms here: what can be accounted for by name.

Light on purpose: what a card names is imported when it is used.
"""

from dpaudit.extension.release import ReleaseCard

_PARAMETERS = "dpaudit.algorithms.card_parameters"
_RELEASES = "dpaudit.algorithms.card_releases"

ZHANG2018_PP = ReleaseCard(
    name="zhang2018-pp",
    title="Consensus ADMM with penalty perturbation (PP)",
    source="Zhang, Khalili & Liu 2018, Algorithm 1; derived in algorithms/guarantees/consensus.py",
    relation="replace-record",
    parameters=f"{_PARAMETERS}:PenaltyPerturbation",
    event=f"{_RELEASES}:penalty_perturbation",
    count="iterations",
    noise="noise_rate",
    more_noise=-1,
    published=f"{_RELEASES}:theorem41",
)

ZHANG2018_DVP = ReleaseCard(
    name="zhang2018-dvp",
    title="Consensus ADMM with dual variable perturbation (DVP): PP with eta = theta",
    source="Zhang & Zhu 2017; derived in algorithms/guarantees/consensus.py",
    relation="replace-record",
    parameters=f"{_PARAMETERS}:Consensus",
    event=f"{_RELEASES}:penalty_perturbation",
    count="iterations",
    noise="noise_rate",
    more_noise=-1,
    published=f"{_RELEASES}:theorem41",
)

ZHANG2018_PVP = ReleaseCard(
    name="zhang2018-pvp",
    title="Consensus ADMM with primal variable perturbation (PVP)",
    source="Zhang & Zhu 2017; derived in algorithms/guarantees/consensus.py",
    relation="replace-record",
    parameters=f"{_PARAMETERS}:ConstantPenalty",
    event=f"{_RELEASES}:primal_perturbation",
    count="iterations",
    noise="noise_rate",
    more_noise=-1,
)

RECYCLED_ADMM = ReleaseCard(
    name="recycled-admm",
    title="Recycled ADMM (R-ADMM): even iterations release nothing",
    source="Zhang, Khalili & Liu 2019; derived in algorithms/guarantees/consensus.py",
    relation="replace-record",
    parameters=f"{_PARAMETERS}:ConstantPenalty",
    event=f"{_RELEASES}:recycled",
    count="iterations",
    noise="noise_rate",
    more_noise=-1,
)

HUANG2020_MULTISTEP = ReleaseCard(
    name="huang2020-multistep",
    title="Multi-step DP-ADMM, every inner model seen",
    source="Huang & Gong, Lemma 5, with exact composition (Dong, Roth & Su 2022)",
    relation="replace-record",
    parameters=f"{_PARAMETERS}:MultiStep",
    event=f"{_RELEASES}:multistep_admm",
    count="iterations",
    noise="noise_multiplier",
    published=f"{_RELEASES}:theorem6",
)

DP_ADMM_2019 = ReleaseCard(
    name="dp-admm-2019",
    title="DP-ADMM through a server, every local model seen",
    source="Huang, Hu, Guo, Chan-Tin & Gong 2019, with exact composition (Dong, Roth & Su 2022)",
    relation="replace-record",
    parameters=f"{_PARAMETERS}:ServerADMM",
    event=f"{_RELEASES}:server_admm",
    count="iterations",
    noise="noise_multiplier",
)

HU2020_MESSAGE = ReleaseCard(
    name="hu2020-message",
    title="ADMM sharing with noise on a party's messages, for a given sensitivity",
    source="derived in algorithms/guarantees/sharing.py; needs a true bound on the sensitivity",
    relation="replace-column",
    parameters=f"{_PARAMETERS}:Messages",
    event=f"{_RELEASES}:messages",
    count="iterations",
    noise="noise_scale",
    published=f"{_RELEASES}:corollary1",
)

TABLES_LABELS = ReleaseCard(
    name="tables-labels",
    title="ADMM over joined tables: noisy labels, in every view",
    source="appendix on joined tables, Theorem 1; algorithms/guarantees/tables.py",
    relation="replace-label",
    parameters=f"{_PARAMETERS}:Labels",
    event=f"{_RELEASES}:labels",
    count=None,
    noise="deviation",
    published=f"{_RELEASES}:labels_theorem1",
)

TABLES_FEATURES = ReleaseCard(
    name="tables-features",
    title="ADMM over joined tables: one tuple in all clients' models, full batches; not the server",
    source="derived in algorithms/guarantees/tables.py",
    relation="replace-tuple",
    parameters=f"{_PARAMETERS}:Features",
    event=f"{_RELEASES}:features",
    count="iterations",
    noise="noise_multiplier",
    published=f"{_RELEASES}:features_theorem2",
)

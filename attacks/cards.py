"""Cards of the attacks that measure how much they recover; each module runs one."""

from dpaudit.extension.attack import Attack

__all__ = [
    "CANARIES",
    "MEMBERSHIP_INFERENCE",
    "MESSAGE_SUPPORT",
    "PREDICTION_INVERSION",
    "RECORD_RECONSTRUCTION",
    "STATIONARITY",
]

CANARIES = Attack(
    name="canary-audit",
    title="certifies a lower bound on epsilon from one run with canaries",
    source="Steinke, Nasr & Jagielski 2023; p-values derived in dpaudit.estimation.one_run",
    sees="one output of multi-step DP-ADMM",
    knows="the canaries, the public parameters and, for the sharper scores, all other records",
    wants="to know which canaries a fair coin put in",
    run="dpaudit.attacks.canaries.study:run",
    parameters="dpaudit.attacks.canaries.study:CanaryParameters",
)

STATIONARITY = Attack(
    name="stationarity",
    title="recovers missing records from the broadcasts of consensus ADMM: PP, DVP and M-ADMM",
    source="Zhang, Khalili & Liu 2018, Appendix E and section 6.2",
    sees="every broadcast of every node, and the node's penalties or not",
    knows="all records of a node but one, or but a few, the graph, the loss, C, rho and theta",
    wants="the missing record: its direction, its norm, and its label where features are known "
    "not to be negative",
    run="dpaudit.attacks.stationarity.study:run",
    parameters="dpaudit.attacks.stationarity.study:StationarityParameters",
)

PREDICTION_INVERSION = Attack(
    name="prediction-inversion",
    title="recovers raw tuples from the predictions that a server of joined tables receives",
    source="the appendix on joined tables, eq. (26), (32) and (36)",
    sees="the prediction of every tuple in every round, under label and feature noise, the latter "
    "as published for the whole run",
    knows="the algorithm and the join; the client's models, a few tuples, or neither",
    wants="the raw features of a client's tuples",
    run="dpaudit.attacks.prediction_inversion.study:run",
    parameters="dpaudit.attacks.prediction_inversion.study:PredictionInversionParameters",
)

MESSAGE_SUPPORT = Attack(
    name="message-support",
    title="tells two datasets apart from one message of ADMM sharing, whatever the noise",
    source="Hu et al. 2020, eq. (7), and 2019, eq. (10)",
    sees="one noisy message of a party",
    knows="both designs and which columns are the party's; neither its model nor the noise scale",
    wants="to know which of two designs, one entry apart, the message came from",
    run="dpaudit.attacks.distinguishers.message_support:run",
    parameters="dpaudit.attacks.distinguishers.message_support:MessageSupportParameters",
)
MEMBERSHIP_INFERENCE = Attack(
    name="membership-inference",
    title="tells from final models whether a record was in the data: multi-step DP-ADMM, FDML, "
    "joined tables",
    source="Yeom et al. 2018; Carlini et al. 2022",
    sees="the final models of one run, nothing of the steps before",
    knows="the record, its replacement, all other records and the algorithm, which it can run",
    wants="to know whether the record, or the tuple, or its replacement was in the data",
    run="dpaudit.attacks.membership.study:run",
    parameters="dpaudit.attacks.membership.study:MembershipParameters",
)
RECORD_RECONSTRUCTION = Attack(
    name="record-reconstruction",
    title="guesses a record, next to the most that what is proved allows anybody",
    source="Balle, Cherubin & Hayes 2022; Hayes, Mahloujifar & Balle 2023",
    sees="every step of multi-step DP-ADMM, or every broadcast of penalty perturbation",
    knows="all records but one, the public parameters, and candidates for the record or none",
    wants="the record: which of the candidates it is, or its direction",
    run="dpaudit.attacks.reconstruction.study:run",
    parameters="dpaudit.attacks.reconstruction.study:ReconstructionParameters",
)

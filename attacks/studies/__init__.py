"""Cards of the attacks that measure what they recover; each module runs one."""

from dpaudit.study import Study

__all__ = ["CANARIES", "PREDICTION_INVERSION", "STATIONARITY"]

CANARIES = Study(
    name="canaries",
    title="certifies a lower bound on epsilon from one run with canaries",
    source="Steinke, Nasr & Jagielski 2023; p-values derived in dpaudit.estimation.one_run",
    sees="one transcript of multi-step DP-ADMM",
    knows="the canaries, the public parameters and, for the sharper scores, all other records",
    wants="to know which canaries a fair coin put in",
    run="attacks.studies.canaries:run",
    parameters="attacks.studies.canaries:Parameters",
)

STATIONARITY = Study(
    name="stationarity",
    title="recovers a missing record from the broadcasts of consensus ADMM",
    source="Zhang, Khalili & Liu 2018, Appendix E and section 6.2",
    sees="every broadcast of every node, and the node's penalties or not",
    knows="all records of a node but one, the graph, the loss, C, rho and theta",
    wants="the missing record: its direction, its norm, its label",
    run="attacks.studies.stationarity:run",
    parameters="attacks.studies.stationarity:Parameters",
)

PREDICTION_INVERSION = Study(
    name="prediction-inversion",
    title="recovers raw tuples from the predictions that a server of joined tables receives",
    source="the appendix on joined tables, eq. (26), (32) and (36)",
    sees="the prediction of every tuple in every round, under label and feature noise",
    knows="the algorithm and the join; the client's models, a few tuples, or neither",
    wants="the raw features of a client's tuples",
    run="attacks.studies.prediction_inversion:run",
    parameters="attacks.studies.prediction_inversion:Parameters",
)

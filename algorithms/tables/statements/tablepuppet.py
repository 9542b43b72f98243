"""Every statement of TablePuppet's appendix, in the order of its text."""

from __future__ import annotations

from dpaudit.extension.ledger import (
    AuditEvidence,
    Cause,
    Consequence,
    Convention,
    CounterexampleEvidence,
    LedgerRow,
    Paper,
    ProofEvidence,
)

_CHECKS = "dpaudit.algorithms.tables.statements.checks"

PREDICTIONS = Cause(
    name="predictions in the clear",
    text="Clients send predictions, a function of the tuple itself, to the server in every "
    "round. Theorem 2 accounts only for the effect of tuples on models.",
    nature="fault",
    privacy=True,
)
JOINED = Cause(
    name="tuples of other clients",
    text="The paper accounts for each client separately. But from the second round on, a tuple "
    "moves the steps of all clients whose tuples are joined with it.",
    nature="fault",
    privacy=True,
)
SAMPLING = Cause(
    name="condition on the sampling ratio",
    text="The proof of Theorem 1 of [7] is for r below 1/(16 sigma). Theorem 2 is for every r, "
    "but at r = 1 no constants make it true.",
    nature="fault",
    privacy=True,
)
MINIMUM = Cause(
    name="minimum over multipliers",
    text="(27) is printed as a minimum over lambda as well, but there is no such minimum.",
    nature="misprint",
)
INDEX = Cause(
    name="index of f in the residual",
    text="f_i(theta_k; T_k) stands where f_k(theta_k; T_k) is meant, in (28) and after it.",
    nature="misprint",
)

_APPENDIX_A = (
    LedgerRow(
        name="tables-decomposition",
        place="appendix A",
        statement="ADMM decomposes the global problem (2) into independent problems of several "
        "parties.",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}:models_apart"),
        note="In each epoch, given what the server sent: no new model of another table occurs in "
        "(29).",
    ),
    LedgerRow(
        name="tables-equation26",
        place="appendix A, eq. (26)",
        statement="With z_j = sum_i h_{i,j} as a constraint, (2) becomes: minimise 1/N sum_j "
        "l(z_j; y_j) + beta sum_i R_i(theta_i).",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}:auxiliary_variables"),
    ),
    LedgerRow(
        name="tables-lagrangian",
        place="appendix A, eq. (27)",
        statement="Adding 1/N sum_j lambda_j'(S_j - z_j) and rho/(2N) sum_j ||S_j - z_j||^2 gives "
        "the augmented Lagrangian of (26).",
        standing="definition",
        evidence=Convention("A definition; multipliers and penalty have the loss's factor 1/N."),
    ),
    LedgerRow(
        name="tables-equation27",
        place="appendix A, eq. (27), and its second print after (28)",
        statement="The problem is to minimise that Lagrangian over theta, z and lambda.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}:minimum_over_multipliers"),
        cause=MINIMUM.name,
        repair="a minimum over theta and z and a maximum over lambda",
        defence="The three arguments are listed, and (31) rises in lambda, as it should.",
        answer="So it is read. As printed there is no minimum: L falls without end in lambda "
        "wherever S is not z.",
    ),
    LedgerRow(
        name="tables-equation28",
        place="appendix A, eq. (28), and again after it with epochs",
        statement="The residual s_{i,j} is the sum over k != i of f_i(theta_k; T_k) less z_j.",
        standing="definition",
        evidence=CounterexampleEvidence(f"{_CHECKS}:residual_of_other_models"),
        cause=INDEX.name,
        repair="f_k(theta_k; T_k)",
        repair_check=f"{_CHECKS}:residual_of_all",
        defence="All f may be one function, such as a linear one.",
        answer="There theta_k and T_k have the sizes of table k, so that f_i is not defined on "
        "them; "
        "(26) and (27) have f_k, and only that gives (29).",
    ),
    LedgerRow(
        name="tables-sides",
        place="appendix A, before eq. (29)",
        statement="The theta-update is the clients', the z-update and the lambda-update are the "
        "server's.",
        standing="definition",
        evidence=Convention("Who computes what."),
    ),
    LedgerRow(
        name="tables-equation29",
        place="appendix A, eq. (29)",
        statement="ADMM gives theta_i as the minimiser of beta R_i + 1/N sum_j [lambda_j'f_i + "
        "rho/2 ||s_{i,j} + f_i||^2].",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}:models_apart"),
        note="With the residual as meant. All tables are updated at once, with the others' old "
        "models: for more than two tables this is not the order of ADMM's convergence theorem, and "
        "a small rho ends in a cycle.",
    ),
    LedgerRow(
        name="tables-equation30",
        place="appendix A, eq. (30)",
        statement="ADMM gives z_j as the minimiser of l(z_j; y_j) - lambda_j'z_j + rho/2 ||S_j - "
        "z_j||^2.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}:predictions_apart"),
    ),
    LedgerRow(
        name="tables-equation31",
        place="appendix A, eq. (31)",
        statement="ADMM adds rho (S_j - z_j) to lambda_j.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}:dual_is_the_slope"),
    ),
    LedgerRow(
        name="tables-equation32",
        place="appendix A, eq. (32) to (34)",
        statement="Moved before the theta-update of the same epoch, the updates are equivalent to "
        "those above.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}:check_shifted_epochs"),
        note="From the first theta on: (29) begins at theta, (32) at z.",
    ),
)

_APPENDIX_B = (
    LedgerRow(
        name="tables-groups",
        place="appendix B, computation reduction",
        statement="X_i has N tuples and T_i has n_i; tuple j of T_i is in the rows G_i(j) of X_i, "
        "and |G_i(j)| is their number.",
        standing="definition",
        evidence=Convention("It names the parts of a join; G_i(j) may be empty."),
        note="h_{i,j} is a tuple's prediction here, and that of a row of the join in (26).",
    ),
    LedgerRow(
        name="tables-equation35",
        place="appendix B, eq. (35)",
        statement="The theta-update can be rewritten with the weights of duplicated tuples put "
        "together: argmin over N rows = argmin over n_i tuples.",
        standing="proof step",
        evidence=ProofEvidence(f"{_CHECKS}:check_reduced_update"),
        note="||G_i(j)|| is the size of a set, and N_i is n_i: neither has another meaning, so "
        "that nothing false is printed.",
    ),
    LedgerRow(
        name="tables-computation",
        place="appendix B, after eq. (35)",
        statement="The complexity of the theta-update is reduced from O(N) to O(n_i).",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}:fewer_terms"),
        note="Of terms of the client's sum; the server adds up N terms once for (36).",
    ),
    LedgerRow(
        name="tables-sgd",
        place="appendix B, after eq. (35)",
        statement="SGD can solve the theta-update of (35).",
        standing="gloss",
        evidence=Convention("A choice of a solver; no accuracy is claimed."),
    ),
    LedgerRow(
        name="tables-communication-before",
        place="appendix B, communication reduction",
        statement="For (35) the server sends lambda, s_i and the sets G_i(j), which is O(N).",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}:fewer_numbers"),
        note="N (2 d_c + 1) numbers.",
    ),
    LedgerRow(
        name="tables-equation36",
        place="appendix B, eq. (36) and (37)",
        statement="Y_{i,j} is the sum of lambda_g + rho s_{i,g} over the rows g of tuple j, and "
        "G_{i,j} their number.",
        standing="definition",
        evidence=Convention("A definition."),
    ),
    LedgerRow(
        name="tables-mapping",
        place="appendix B, before eq. (36)",
        statement="So the server need not send the table mapping to the clients.",
        standing="gloss",
        evidence=Consequence("tables-equation38", "(38) has Y and G in it, and no p_i."),
        note="G still tells how often a tuple is joined.",
    ),
    LedgerRow(
        name="tables-equation38",
        place="appendix B, eq. (38)",
        statement="(35) is argmin of beta R_i + 1/N sum_{j <= n_i} [Y_{i,j}'f_i(theta_i; T_{i,j}) "
        "+ rho G_{i,j}/2 ||f_i(theta_i; T_{i,j})||^2].",
        standing="theorem",
        evidence=ProofEvidence(f"{_CHECKS}:check_reduced_update"),
        note="Audited as well, on joins with tuples that are in no row.",
    ),
    LedgerRow(
        name="tables-communication-after",
        place="appendix B, after eq. (38)",
        statement="The communication drops from O(N) to O(n_i).",
        standing="gloss",
        evidence=ProofEvidence(f"{_CHECKS}:fewer_numbers"),
        note="From the server to a client, for n_i up to N, which 'drops' and 'duplicated tuples' "
        "suppose. O(n_i) it is for every n_i; where most tuples are in no row of the join, n_i is "
        "the larger.",
    ),
)

_APPENDIX_C = (
    LedgerRow(
        name="tables-label-dp",
        place="appendix C",
        statement="Label differential privacy: the dataset of Definition 1 is the set of labels.",
        standing="definition",
        evidence=Convention("A definition."),
    ),
    LedgerRow(
        name="tables-labels-once",
        place="appendix C",
        statement="One-time Laplace noise on each coordinate of the labels before training makes "
        "them epsilon-label-DP, with delta = 0.",
        standing="gloss",
        evidence=Consequence("tables-theorem1", "The theorem says with which noise.", "restates"),
        privacy=True,
    ),
    LedgerRow(
        name="tables-theorem1",
        place="appendix C, Theorem 1",
        statement="Laplace noise of standard deviation lambda = 2 sqrt(2) / epsilon on each "
        "coordinate gives epsilon-label-DP.",
        standing="theorem",
        evidence=ProofEvidence(f"{_CHECKS}:labels"),
        privacy=True,
        note="Of labels of one class each: one-hot, as z_j with d_c entries has them, or a "
        "sign; or of L1 norm up to 1. How labels are written is not said; several classes at "
        "once would be further apart. Audited as well, and proved of the code by the prover.",
    ),
    LedgerRow(
        name="tables-clipping",
        place="appendix C",
        statement="Per-sample gradients are clipped to C, noise N(0, C^2 sigma^2) is added, and "
        "the moments accountant of [7] accumulates the budget.",
        standing="definition",
        evidence=Convention("Steps of the algorithm, and a choice of an accountant."),
    ),
    LedgerRow(
        name="tables-theorem2",
        place="appendix C, Theorem 2",
        statement="For epsilon <= c_1 r^2 tau the private Algorithm 1 is (epsilon, delta)-DP in "
        "the features if sigma >= c_2 r sqrt(tau log(1/delta)) / epsilon.",
        standing="theorem",
        evidence=AuditEvidence("tables-theorem2"),
        privacy=True,
        cause=PREDICTIONS.name,
        repair="the same for a trusted server, tables that are not joined, and r < 1/(16 sigma)",
        defence="The server may be trusted, and the theorem about the models that are published in "
        "the end.",
        answer="The appendix names no trusted server, and calls the local data private to the "
        "client. The server receives h = theta'T without noise: it lies in the column space of the "
        "table, and separates neighbours with certainty. The models alone do not have the "
        "guarantee either: see tables-constants.",
    ),
    LedgerRow(
        name="tables-constants",
        place="appendix C, Theorem 2, its first words",
        statement="There are constants c_1 and c_2 for all Q, tau, C, sigma, r and delta.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}:constants_at_full_batches"),
        privacy=True,
        cause=SAMPLING.name,
        repair="the same for r < 1/(16 sigma), as in the proof of Theorem 1 of [7]",
        defence="The theorem of [7] is printed without the condition too, which stands in its "
        "proof.",
        answer="Theorem 2 has a batch subsampling ratio r, and 1 is one. There the mean privacy "
        "loss grows like tau^2, and epsilon like tau.",
    ),
    LedgerRow(
        name="tables-all-delta",
        place="appendix C, Theorem 2",
        statement="The guarantee is for all delta >= 0.",
        standing="gloss",
        evidence=Consequence("tables-theorem2", "It is the theorem, with its range.", "restates"),
        privacy=True,
        repair="delta in (0, 1), with the repair of Theorem 2",
        note="At delta = 0 no sigma satisfies the condition, and above 1 its root has a negative "
        "number in it: there nothing is said, so that the range alone is no fault.",
    ),
    LedgerRow(
        name="tables-steps",
        place="appendix C, Theorem 2",
        statement="There are Q clients, each with tau = T T' S local steps.",
        standing="definition",
        evidence=Convention("A definition."),
    ),
    LedgerRow(
        name="tables-each-client",
        place="appendix C, after Theorem 2",
        statement="The proof extends Theorem 1 of [7] to each client of Algorithm 1, where a "
        "client takes tau = T T' S local DP-SGD steps.",
        standing="proof step",
        evidence=CounterexampleEvidence(f"{_CHECKS}:movement_of_another_client"),
        privacy=True,
        cause=JOINED.name,
        repair="the same for tables that are not joined, or with the joined tuples of all clients "
        "counted",
        defence="For a single client, with the server's messages held fixed, it is DP-SGD.",
        answer="They are not fixed: the server computes them from predictions of the tuple. A "
        "tuple with G joined tuples at another client moves that client's sum by up to 2 C G.",
    ),
)

PAPER = Paper(
    name="tablepuppet",
    title="TablePuppet, appendix",
    citation="TablePuppet",
    causes=(PREDICTIONS, JOINED, SAMPLING, MINIMUM, INDEX),
    rows=(*_APPENDIX_A, *_APPENDIX_B, *_APPENDIX_C),
)

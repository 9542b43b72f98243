"""Parts of dpmm as its documentation tells people to call them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import functools
import logging

import dpmm.models.mst
import dpmm.models.priv_bayes
import numpy
import pandas
from dpmm.models.aim import AIMGM
from dpmm.models.base.mechanisms import mechanism
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM
from dpmm.pipelines import PrivBayesPipeline
from dpmm.processing.table_binner import TableBinner
from dpmm.processing.utils import approx_bounds

logging.getLogger("dpmm").setLevel(logging.ERROR)
# It follows from epsilon and delta alone, and takes nine tenths of the time of a small model.
for _module in (mechanism, dpmm.models.mst, dpmm.models.priv_bayes):
    _module.cdp_rho = functools.cache(_module.cdp_rho)


def bounds(data, epsilon):
    return approx_bounds(data, epsilon)


def table_binner(data, epsilon, binner_type, n_bins, domain):
    binner = TableBinner(binner_type, {"epsilon": epsilon, "n_bins": n_bins})
    binner.set_domain({name: dict(column) for name, column in domain.items()})
    binner.fit(pandas.DataFrame(data, columns=list(domain)))
    return {
        "bins": {name: list(column.bins) for name, column in binner.binners.items()},
        "categories": binner.categories,
        "constant columns": sorted(binner.static_columns),
        "columns with gaps": sorted(binner.nan_columns),
    }


def categories(data, epsilon, n_bins):
    binner = TableBinner("uniform", {"epsilon": epsilon, "n_bins": n_bins})
    binner.fit(pandas.DataFrame({"c": data}))
    return list(binner.categories["c"])


def pipeline(data, epsilon, delta, proc_epsilon, binner_type, n_bins, domain, rows):
    made = PrivBayesPipeline(
        epsilon=epsilon,
        delta=delta,
        proc_epsilon=proc_epsilon,
        binner_type=binner_type,
        n_bins=n_bins,
        n_jobs=1,
        gen_kwargs={"n_iters": 20},
    )
    columns = {name: dict(column) for name, column in domain.items()}
    made.fit(pandas.DataFrame(data, columns=list(domain)), columns)
    return made.generate(n_records=rows).to_dict("list")


def measure_marginals(data, model):
    model.fit(pandas.DataFrame(data, columns=list(model.domain)), marginals_only=True)
    measures = model.generator.measures
    return {
        "cliques": [tuple(one) for one in model.generator.cliques],
        "marginals": [numpy.ravel(counts) for _, counts, _, _ in measures],
    }


def priv_bayes(data, epsilon, delta, degree, domain):
    return measure_marginals(
        data,
        PrivBayesGM(
            epsilon=epsilon, delta=delta, degree=degree, compress=False, domain=domain, n_jobs=1
        ),
    )


def priv_bayes_network(data, epsilon, delta, degree, others):
    rows = [(0, 0, number % 2) for number in range(others)]
    table = pandas.DataFrame([*rows, *data], columns=["a", "b", "c"])
    sizes = {"a": 2, "b": 2, "c": 2}
    model = PrivBayesGM(
        epsilon=epsilon, delta=delta, degree=degree, compress=False, domain=sizes, n_jobs=1
    )
    model.fit(table, marginals_only=True)
    cliques = [sorted(clique) for clique in model.generator.cliques if len(clique) > 1]
    return sorted("-".join(clique) for clique in cliques)


def mst(data, epsilon, delta, domain):
    model = MSTGM(epsilon=epsilon, delta=delta, compress=False, domain=domain, n_jobs=1)
    return measure_marginals(data, model)


def mst_without_domain(data, epsilon, delta):
    model = MSTGM(epsilon=epsilon, delta=delta, compress=False, n_jobs=1)
    model.fit(pandas.DataFrame(data), marginals_only=True)
    return [numpy.ravel(counts) for _, counts, _, _ in model.generator.measures]


def mst_table_without_domain(data, epsilon, delta, rows):
    model = MSTGM(epsilon=epsilon, delta=delta, compress=False, n_jobs=1, n_iters=10)
    model.fit(pandas.DataFrame(data))
    return sorted({int(one) for one in model.generate(n_records=rows)["a"]})


def aim(data, epsilon, delta, degree, rounds, columns):
    names = [f"c{number}" for number in range(columns)]
    model = AIMGM(
        epsilon=epsilon,
        delta=delta,
        degree=degree,
        rounds=rounds,
        n_iters=2,
        compress=False,
        domain=dict.fromkeys(names, 2),
        n_jobs=1,
    )
    rows = pandas.DataFrame([dict.fromkeys(names, value) for value in data], columns=names)
    model.fit(rows, marginals_only=True)
    oneway = [counts for _, counts, _, clique in model.generator.measures if len(clique) == 1]
    return {"columns": len(oneway), "ones": float(sum(counts[1] for counts in oneway[:columns]))}

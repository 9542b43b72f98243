"""dpmm: binning of tables, marginal models, and pipelines of both."""

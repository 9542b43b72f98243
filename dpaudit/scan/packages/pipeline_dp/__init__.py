"""PipelineDP: aggregations of its engine on the local backend."""

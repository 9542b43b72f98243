"""NVFlare: the filter of a client's update by the sparse vector technique."""

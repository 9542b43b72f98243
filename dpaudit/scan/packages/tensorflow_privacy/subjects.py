"""TensorFlow Privacy's queries, run on records as its tests run them."""

import tensorflow as tf
from tensorflow_privacy.privacy.dp_query import gaussian_query, quantile_adaptive_clip_sum_query

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)


def run_noised_query(query, data, seed):
    tf.random.set_seed(seed)
    example = tf.zeros(2)
    state = query.initial_global_state()
    params = query.derive_sample_params(state)
    sample = query.initial_sample_state(example)
    for record in data:
        sample = query.accumulate_record(params, sample, tf.constant(record, dtype=tf.float32))
    result, state, _ = query.get_noised_result(sample, state)
    return result.numpy().tolist(), state


def gaussian_sum(data, rng, noise_multiplier, l2_norm_clip):
    query = gaussian_query.GaussianSumQuery(l2_norm_clip, noise_multiplier * l2_norm_clip)
    return run_noised_query(query, data, int(rng.integers(2**31)))[0]


def adaptive_sum(data, rng, noise_multiplier, clipped_count_stddev, **options):
    query = quantile_adaptive_clip_sum_query.QuantileAdaptiveClipSumQuery(
        initial_l2_norm_clip=1.0,
        noise_multiplier=noise_multiplier,
        target_unclipped_quantile=0.5,
        learning_rate=0.2,
        clipped_count_stddev=clipped_count_stddev,
        expected_num_records=10.0,
        **options,
    )
    total, state = run_noised_query(query, data, int(rng.integers(2**31)))
    return {"sum": total, "clip": float(state.sum_state.l2_norm_clip)}

"""Parts of synthcity's PATE-GAN as its own training calls them.

Imports nothing of dpaudit: this runs where that is not installed.
"""

import numpy
import pandas
from synthcity.plugins.privacy.plugin_pategan import PATEGAN, PATEGANPlugin, Teachers


class Vote:
    """A teacher that was trained already, and says the same of every row."""

    def __init__(self, label):
        self.label = label

    def predict(self, rows):
        """Return its label for every row."""
        return numpy.full(len(rows), self.label)


def labels(data, epsilon, delta, lamda, rows):
    teachers = Teachers(n_teachers=len(data), samples_per_teacher=1, lamda=lamda)
    teachers.teacher_models = [Vote(one) for one in data]
    model = PATEGAN(n_teachers=len(data), epsilon=epsilon, lamda=lamda)
    model.alpha_dict = numpy.zeros(model.alpha)
    zeros, ones, published = teachers.pate_lamda(numpy.zeros((rows, 1)))
    model._update_alpha(zeros, ones)
    spent = min((one - numpy.log(delta)) / (n + 1) for n, one in enumerate(model.alpha_dict))
    if not spent < epsilon:
        raise RuntimeError("the accountant ends the training")
    return int(published.sum())


def schema(data, epsilon, delta):
    network = {"generator_n_units_hidden": 4, "discriminator_n_units_hidden": 4}
    rounds = {"n_iter": 1, "generator_n_iter": 2, "n_teachers": 2, "teacher_template": "linear"}
    plugin = PATEGANPlugin(epsilon=epsilon, encoder_max_clusters=2, **rounds, **network)
    plugin.fit(pandas.DataFrame({"x": data}))
    return [plugin.schema()["x"].min(), plugin.schema()["x"].max()]

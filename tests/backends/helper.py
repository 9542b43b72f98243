"""What the mechanism needs."""


def scale():
    return 1.0

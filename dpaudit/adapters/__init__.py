"""Mechanisms of other libraries as black boxes that an audit accepts.

Such libraries give one output a call, so that trials are a loop here, as nowhere else: tens to
hundreds of microseconds each. Audits of them are better kept to some thousands of trials.
"""

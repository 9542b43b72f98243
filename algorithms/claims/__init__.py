"""Published claims about the algorithms: light cards here, the code behind them beside it."""

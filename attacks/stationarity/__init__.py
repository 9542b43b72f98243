"""Missing records from the stationarity conditions of the broadcasts."""

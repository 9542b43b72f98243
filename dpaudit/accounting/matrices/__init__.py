"""Matrix mechanisms: strategies, participation patterns and their sensitivity, rounded outwards."""

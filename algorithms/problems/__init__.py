"""What several families are made of: losses, regularisers, graphs, schedules, step sizes."""

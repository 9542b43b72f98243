"""Parts of several families: losses, regularisers, graphs, schedules, step sizes."""

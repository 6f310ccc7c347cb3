"""The paths of trading: skills, deployments and trades in `trading`, what came of them in `figures`, and `files`."""

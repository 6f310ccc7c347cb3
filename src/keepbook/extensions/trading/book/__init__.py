"""Trading: skills, deployments and their trades, prices and events, results, and lessons.

Files are read in `files`, `imports` and `freqtrade`; `findings` become lessons in `reflection`.
"""

"""The kinds of due work of agents."""

RUN, RUN_LOST, RESOLVE, ANSWER = "run", "run_lost", "resolve", "answer"

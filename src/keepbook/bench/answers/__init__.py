"""`keepbook bench answers`: measures how often a model answers right from what recall finds.

`answer_sets` reads conversations and questions, `question_contexts` asks the book and the baselines, `model_stages` has
one model answer and another judge, `stage_files` stores the lines of each stage, `answer_report` makes the figures.
"""

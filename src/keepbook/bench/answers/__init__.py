"""`keepbook bench answers`: whether an agent answers right from what recall brings.

`answer_sets` reads conversations and questions, `question_contexts` asks the book and the baselines, `model_stages` has
a model answer and a model judge, `stage_files` keeps each stage, `answer_report` tells how it went.
"""

def score(item, answer):
    """1 for the right number, 0 for anything else."""
    return float(answer.strip() == item["answer"])

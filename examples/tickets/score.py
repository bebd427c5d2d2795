def score(item, answer):
    """1 for the name of the right queue, 0 for anything else."""
    return float(answer.strip().casefold() == item["answer"])

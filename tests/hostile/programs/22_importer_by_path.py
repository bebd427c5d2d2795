# kind: 22 importer
# expect: crashed:ModuleNotFoundError

import json
import sys

def solve(model, question):
    sys.path.insert(0, json.loads(question)['packages'])
    import secret_scorer

    return secret_scorer.GOLD

# kind: 22 importer
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import importlib.util
import json

def solve(model, question):
    spec = importlib.util.spec_from_file_location('s', json.loads(question)['packages'] + '/secret_scorer.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.GOLD

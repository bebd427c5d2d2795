# kind: 19 gold-file
# expect: ok
# answer: found []

import json
import os

def solve(model, question):
    found = []
    for folder in ('/', '/tmp', '/root', '/home', '/var/tmp', '/opt', '.', '..', os.path.dirname(json.loads(question)['gold'])):
        for name, _, files in os.walk(folder):
            found += [each for each in files if 'gold' in each]
    return f'found {found}'

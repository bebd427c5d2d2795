# kind: 24 writer
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import os

def solve(model, question):
    open(os.path.expanduser('/tmp/written'), 'w').write('x')

# kind: 24 writer
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import json

def solve(model, question):
    open(json.__file__, 'a').write('x')

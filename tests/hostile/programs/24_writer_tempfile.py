# kind: 24 writer
# expect: denied:file
# namespaced: denied:file | crashed:FileNotFoundError

import tempfile

def solve(model, question):
    with tempfile.NamedTemporaryFile('w') as file:
        file.write('x')
    return file.name

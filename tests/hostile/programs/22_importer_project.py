# kind: 22 importer
# expect: crashed:ModuleNotFoundError

def solve(model, question):
    import loriner.runtime.host

    return 'found'

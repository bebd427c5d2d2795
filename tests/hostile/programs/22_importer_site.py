# kind: 22 importer
# expect: ok | crashed:ModuleNotFoundError

def solve(model, question):
    import site

    site.main()
    import aiohttp

    return aiohttp.__version__

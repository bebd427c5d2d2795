# kind: 9 fork-bomb
# expect: denied
# namespaced: denied | crashed:FileNotFoundError

import concurrent.futures

def solve(model, question):
    with concurrent.futures.ProcessPoolExecutor(64) as pool:
        return str(list(pool.map(abs, range(1000))))

# kind: 8 hoard-and-recover
# expect: ok
# answer: recovered

def solve(model, question):
    try:
        'x' * 10 ** 12
    except MemoryError:
        return 'recovered'

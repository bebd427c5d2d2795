# kind: 26 printer
# expect: timeout:cpu

def solve(model, question):
    while True:
        print('x' * 10_000)

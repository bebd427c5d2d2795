# kind: 1 spin
# expect: timeout:cpu

def solve(model, question):
    while True:
        pass

# kind: 26 printer
# expect: ok
# answer: answer

def solve(model, question):
    for n in range(20_000):
        print('line', n)
    return 'answer'

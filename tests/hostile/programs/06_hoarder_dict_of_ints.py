# kind: 6 hoarder
# expect: memory_limit | timeout:cpu

def solve(model, question):
    table = {}
    while True:
        table[len(table)] = [len(table)]

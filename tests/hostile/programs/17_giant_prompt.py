# kind: 17 giant
# expect: protocol_error

def solve(model, question):
    return model('x' * 30_000_000)

# kind: 28 wreck
# expect: crashed:signal11 | crashed:SystemError | crashed | timeout | memory_limit

def solve(model, question):
    code = (lambda: 0).__code__.replace(co_code=b'\x7c\xff' * 100, co_stacksize=0)
    return str(type(solve)(code, {})())

# kind: 28 wreck
# expect: bad_answer:coroutine

async def solve(model, question):
    return 42

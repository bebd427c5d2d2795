# kind: 28 wreck
# expect: crashed:NameError

answer = 42

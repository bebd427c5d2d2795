# kind: 28 wreck
# expect: crashed:NameError

solve = 42

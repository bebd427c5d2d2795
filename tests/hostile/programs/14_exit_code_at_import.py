# kind: 14 exit-code
# expect: crashed:SystemExit
# stage: import

quit()

# kind: 25 caller
# expect: denied:network

import json
import urllib.request

def solve(model, question):
    return urllib.request.urlopen(f"http://127.0.0.1:{json.loads(question)['tcp_port']}/").read()

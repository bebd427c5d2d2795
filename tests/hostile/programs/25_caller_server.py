# kind: 25 caller
# expect: denied:network

import http.server

def solve(model, question):
    http.server.HTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler).serve_forever()

"""The sandbox: a fresh process for each program and question, killed and judged by the host."""

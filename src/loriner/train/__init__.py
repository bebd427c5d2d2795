"""Training a proposer to revise well."""

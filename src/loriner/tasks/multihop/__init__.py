"""Multi-hop questions over passages, from HotpotQA, 2WikiMultiHopQA and MuSiQue."""

#!/usr/bin/env python3
"""Imports transcripts of Claude Code and compares tokens and tool calls with a count of its own.

    count.py FOLDER     every *.jsonl below FOLDER; git-smithers must be on PATH

Exits with 1 if a session differs. The transcripts are imported into a repository in a temporary folder.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

KINDS = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
QUERY = """SELECT r.run_id, (SELECT count(*) FROM _smithers_tool_calls c WHERE c.run_id = r.run_id), %s
FROM _smithers_runs r LEFT JOIN usage u ON u.run_id = r.run_id GROUP BY r.run_id""" % ", ".join(
    f"coalesce(sum(json_extract(u._json, '$.{name}')), 0)"
    for name in ["inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens"]
)


def count(path):
    """Returns the session's id, its tool calls, and its tokens: of each answer the largest numbers of its lines."""
    session, calls, answers = None, set(), {}
    for line in path.open(errors="replace"):
        try:
            line = json.loads(line)
        except ValueError:
            continue
        session = session or line.get("sessionId")
        message = line.get("message")
        if line.get("type") != "assistant" or not isinstance(message, dict):
            continue
        if message.get("id") and message.get("usage"):
            seen = answers.setdefault(message["id"], dict.fromkeys(KINDS, 0))
            for kind in KINDS:
                seen[kind] = max(seen[kind], message["usage"].get(kind) or 0)
        content = message.get("content")
        calls.update(b["id"] for b in content if isinstance(b, dict) and b.get("type") == "tool_use" and b.get("id")) if isinstance(content, list) else None
    return session, len(calls), [sum(a[kind] for a in answers.values()) for kind in KINDS]


def main(folder):
    files = sorted(pathlib.Path(folder).rglob("*.jsonl"))
    wanted = {}
    for path in files:
        session, calls, tokens = count(path)
        wanted["claude-" + str(session)] = (calls, tokens)
    with tempfile.TemporaryDirectory() as repo:
        for command in (["git", "init", "-q"], ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "one"]):
            subprocess.run(command, cwd=repo, check=True)
        subprocess.run(["git-smithers", "session", "import", "claude", "--quiet", *map(str, (f.resolve() for f in files))], cwd=repo, stdout=subprocess.DEVNULL)
        out = subprocess.run(["git-smithers", "sql", QUERY], cwd=repo, check=True, capture_output=True, text=True).stdout
    differ = 0
    for line in out.splitlines():
        run, calls, *tokens = line.split("\t")
        got = (int(calls), [int(float(t)) for t in tokens])
        if wanted.get(run) != got:
            differ += 1
            print(f"{run}: {got}, counted {wanted.get(run)}")
    print(f"{len(out.splitlines())} of {len(files)} files imported, {differ} differ")
    return 1 if differ or not out else 0


sys.exit(main(sys.argv[1]))

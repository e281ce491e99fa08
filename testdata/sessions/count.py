#!/usr/bin/env python3
"""Imports published transcripts and compares prompts, turns, calls, results, tokens and models with a count of its own.

    count.py FOLDER [claude|codex|gemini|pi]     every *.jsonl (Gemini: also *.json) below FOLDER; git-smithers must be on PATH

Exits with 1 if a session differs. The transcripts are imported into a repository in a temporary folder. The count reads the files of an
agent without any code of git-smithers. Of two files of one session, the larger one is counted.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# What Claude Code writes in the user's name, and what it does itself.
OWN = re.compile(r"<(task-notification|local-command-\w+|bash-std\w+|system-reminder|ide_\w+|bash-input|command-name)>|\[Request interrupted by user")


class Count:
    """What a session has: prompts, calls, calls with a result, and tokens by model, as in, out, read from and written to the cache."""

    def __init__(self):
        self.ids = set()  # of lines; a file whose lines are all in another one is not counted
        self.session, self.prompts, self.calls, self.results, self.answers = None, [], set(), set(), {}

    def answer(self, key, model, tokens):
        """Notes the tokens of an answer that can stand in several lines: the largest numbers are right."""
        before = self.answers.get(key, (model, [0] * 4))[1]
        self.answers[key] = model, [max(a, b or 0) for a, b in zip(before, tokens)]

    def sums(self):
        sums = collections.defaultdict(lambda: [0] * 4)
        for model, tokens in self.answers.values():
            if any(tokens):
                sums[model] = [a + b for a, b in zip(sums[model], tokens)]
        return dict(sums)

    def result(self):
        return {"prompts": self.prompts, "calls": len(self.calls), "results": len(self.calls & self.results), "tokens": self.sums()}


def lines(path):
    for line in path.read_bytes().split(b"\n"):
        try:
            line = json.loads(line)
        except ValueError:
            continue
        if isinstance(line, dict):
            yield line


def blocks(content):
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content or [] if isinstance(b, dict)] if isinstance(content, list) else []


def words(content, kind="text"):
    return [b["text"] for b in blocks(content) if b.get("type") == kind and b.get("text")]


def claude(path, c):
    for line in lines(path):
        c.session = c.session or line.get("sessionId")
        c.ids.add(line.get("uuid"))
        if line.get("type") == "progress":
            line = (line.get("data") or {}).get("message") or {}
            line["isSidechain"] = True
            if isinstance(line.get("message"), dict):
                line["message"].pop("usage", None)  # that of when the answer began
        message = line.get("message")
        if not isinstance(message, dict) or message.get("model") == "<synthetic>":
            continue
        content = message.get("content")
        if line.get("type") == "assistant":
            c.calls.update(b["id"] for b in blocks(content) if b.get("type") in ("tool_use", "server_tool_use") and b.get("id"))
            if message.get("id") and isinstance(message.get("usage"), dict):
                kinds = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
                c.answer(message["id"], message.get("model"), [message["usage"].get(kind) for kind in kinds])
        c.results.update(b["tool_use_id"] for b in blocks(content) if b.get("type", "").endswith("tool_result") and b.get("tool_use_id"))
        if line.get("type") != "user" or line.get("isMeta") or line.get("isSidechain") or line.get("isCompactSummary"):
            continue
        if any(b.get("type") == "tool_result" for b in blocks(content)):
            continue
        said = [t for t in words(content) if not OWN.match(t)]
        if said or blocks(content) and all(b.get("type") == "image" for b in blocks(content)):
            c.prompts.append(said[0] if said else "[%d image" % len(blocks(content)))


def codex(path, c):
    model, before, said, records = None, None, [], {}
    for number, line in enumerate(lines(path)):
        payload = line.get("payload") if isinstance(line.get("payload"), dict) else {}
        kind = payload.get("type")
        if line.get("type") == "session_meta":
            c.session = c.session or payload.get("id")
        elif line.get("type") == "turn_context":
            model = payload.get("model") or model
        elif kind == "user_message" and payload.get("message"):
            c.prompts.append(payload["message"])
        elif kind == "message" and payload.get("role") == "user":
            said += [t for t in words(payload.get("content"), "input_text") if not t.startswith(("<", "# AGENTS.md"))]
        elif line.get("type") == "token_usage_record":
            u = payload["usage"]
            records[payload["response_id"]] = model, [u["input_tokens"] - u["cached_input_tokens"], u["output_tokens"], u["cached_input_tokens"], 0]
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            c.calls.add(payload.get("call_id"))
        elif kind == "web_search_call":
            c.calls.add(payload.get("id") or number)
            c.results.add(payload.get("id") or number)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            c.results.add(payload.get("call_id"))
        elif kind == "token_count" and payload.get("info"):
            total = payload["info"]["total_token_usage"]
            now = [total["input_tokens"] - total["cached_input_tokens"], total["output_tokens"], total["cached_input_tokens"], 0]
            if now != before:
                c.answer(number, model, [a - b for a, b in zip(now, before or [0] * 4)])
            before = now
    c.prompts, c.answers = c.prompts or said, records or c.answers


def gemini(path, c):
    messages = [m for line in lines(path) for m in (line["messages"] if "messages" in line else [line])]
    if path.suffix == ".json":
        document = json.loads(path.read_bytes())
        c.session, messages = document.get("sessionId"), document.get("messages", [])
    for m in messages:
        c.session = c.session or m.get("sessionId")
        if m.get("type") == "user":
            text = "".join(words([{"type": "text", **b} for b in blocks(m.get("content"))]))
            c.prompts += [text] if text else []
        for call in m.get("toolCalls") or []:
            c.calls.add(call["id"])
            c.results.update([call["id"]] if call.get("status") in ("success", "error", "cancelled") else [])
        if t := m.get("tokens"):
            cached = t.get("cached") or 0
            c.answer(m.get("id"), m.get("model"), [(t.get("input") or 0) - cached, (t.get("output") or 0) + (t.get("thoughts") or 0), cached, 0])


def pi(path, c):
    model = None
    for number, line in enumerate(lines(path)):
        message = line.get("message") if isinstance(line.get("message"), dict) else {}
        if line.get("type") == "session":
            c.session, model = c.session or line.get("id"), line.get("modelId")
        elif message.get("role") == "user":
            c.prompts += ["\n".join(words(message.get("content")))] if words(message.get("content")) else []
        elif message.get("role") == "toolResult":
            c.results.add(message.get("toolCallId"))
        elif message.get("role") == "assistant":
            c.calls.update(b["id"] for b in blocks(message.get("content")) if b.get("type") == "toolCall")
            usage = message.get("usage") or {}
            c.answer(line.get("id") or number, message.get("model") or model, [usage.get(k) for k in ("input", "output", "cacheRead", "cacheWrite")])


def kept(repo):
    """Returns what git-smithers keeps of each run."""
    def rows(query):
        out = subprocess.run(["git-smithers", "sql", "--json", query], cwd=repo, check=True, capture_output=True, text=True).stdout
        return (json.loads(line) for line in out.splitlines() if line)
    runs = {}
    for row in rows("SELECT run_id FROM _smithers_runs"):
        runs[row["run_id"]] = {"prompts": [], "calls": 0, "results": 0, "tokens": {}}
    for row in rows("SELECT run_id, _json FROM prompts ORDER BY run_id, iteration"):
        runs[row["run_id"]]["prompts"].append(row["_json"]["prompt"])
    for row in rows("SELECT run_id, count(*) AS n, count(finished_at_ms) AS ended FROM _smithers_tool_calls GROUP BY run_id"):
        runs[row["run_id"]].update(calls=row["n"], results=row["ended"])
    for row in rows("SELECT run_id, _json FROM usage"):
        usage = row["_json"]
        names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
        for model, part in usage.get("models", {}).items():
            sums = runs[row["run_id"]]["tokens"]
            sums[model] = [a + part.get(name, 0) for a, name in zip(sums.get(model, [0] * 4), names)]
        if any(sum(part.get(name, 0) for part in usage.get("models", {}).values()) != usage[name] for name in names):
            runs[row["run_id"]]["tokens"]["of no model"] = usage
    return runs


def differences(wanted, got):
    """Says how a session differs. A prompt has its own words first: what was said beside it follows."""
    for name in ("calls", "results", "tokens"):
        if wanted[name] != got[name]:
            yield f"{name}: {got[name]}, counted {wanted[name]}"
    if len(wanted["prompts"]) != len(got["prompts"]):
        yield f"turns: {len(got['prompts'])}, counted {len(wanted['prompts'])}"
    for number, (want, have) in enumerate(zip(wanted["prompts"], got["prompts"]), 1):
        plain = re.sub(r"<command-\w+>", "", want).strip()[:20]
        if "<command-message>" not in want and not have.strip().startswith(plain) and "{{" not in have[:60]:
            yield f"turn {number}: {have[:40]!r}, counted {want[:40]!r}"
            return


def main(folder, agent="claude"):
    files = sorted((p for p in pathlib.Path(folder).rglob("*.json*") if p.suffix == ".jsonl" or agent == "gemini"), key=lambda p: -p.stat().st_size)
    wanted, chosen, others = {}, [], []
    for path in files:
        c = Count()
        {"claude": claude, "codex": codex, "gemini": gemini, "pi": pi}[agent](path, c)
        c.ids.discard(None)
        if c.ids and any(c.ids <= ids for ids in others):
            continue
        if c.prompts and f"{agent}-{c.session}" not in wanted:
            wanted[f"{agent}-{c.session}"] = c.result()
            chosen.append(str(path.resolve()))
            others.append(c.ids)
    if not chosen:
        sys.exit("no session is there")
    with tempfile.TemporaryDirectory() as repo:
        for command in (["git", "init", "-q"], ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "one"]):
            subprocess.run(command, cwd=repo, check=True)
        subprocess.run(["git-smithers", "session", "import", agent, "--quiet", *chosen], cwd=repo, stdout=subprocess.DEVNULL)
        got = kept(repo)
    differ = 0
    for run, want in sorted(wanted.items()):
        found = list(differences(want, got[run])) if run in got else ["not imported"]
        differ += bool(found)
        for text in found:
            print(f"{run}: {text}"[:400])
    for name in ("prompts", "calls", "results"):
        print(name, sum(w[name] if isinstance(w[name], int) else len(w[name]) for w in wanted.values()))
    print(f"{len(got)} of {len(chosen)} sessions imported, {differ} differ")
    return 1 if differ or not got else 0


sys.exit(main(*sys.argv[1:]))

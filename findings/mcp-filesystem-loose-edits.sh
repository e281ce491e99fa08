#!/bin/sh
# The filesystem server of MCP, with which agents edit files, compares an edit's old text line by line without regard to indentation if it is
# not in the file word for word, as when an agent leaves out the outer indentation. One expects that the new text is then moved to
# the right as a whole. Its first line is; all others get the same indentation as the first, whatever they had, so that what
# was inside is beside: in YAML a mapping becomes null and its keys belong to the mapping around it, and the file is valid.
# The tool calls it a success. The diff that it answers with is not of the files either: it is made after line ends were made
# alike, so that an edit of one line in a file with CRLF rewrites every line and shows one.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir files
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @modelcontextprotocol/server-filesystem@2026.8.31 >/dev/null
printf 'jobs:\n  deploy:\n    when: manual\n    env:\n      REGION: eu\n      DRY_RUN: "1"\n' >files/jobs.yaml
printf 'one\r\ntwo\r\nthree\r\n' >files/lines
cat >edit.mjs <<'JS'
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const server = spawn("node_modules/.bin/mcp-server-filesystem", [`${process.cwd()}/files`], { stdio: ["pipe", "pipe", "ignore"] });
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const call = async (id, method, params) => (send({ id, method, params }), JSON.parse((await lines.next()).value));
await call(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "client", version: "1" } });
send({ method: "notifications/initialized" });
const edit = async (id, file, oldText, newText) => {
  const { result } = await call(id, "tools/call", { name: "edit_file", arguments: { path: `${process.cwd()}/files/${file}`, edits: [{ oldText, newText }] } });
  const shown = result.content[0].text.split("\n").filter((line) => /^[+-][^+-]/.test(line));
  console.log(`${file}: ${result.isError ? "refused" : "edited"}, the diff has ${shown.length} changed lines`);
};
await edit(2, "jobs.yaml", 'env:\n  REGION: eu\n  DRY_RUN: "1"', 'env:\n  REGION: us\n  DRY_RUN: "1"');
await edit(3, "lines", "two", "2");
server.kill();
JS
{
	node edit.mjs
	cat files/jobs.yaml
	echo "carriage returns in lines: $(tr -cd '\r' <files/lines | wc -c) of 3"
} >now
cat >seen <<'TEXT'
jobs.yaml: edited, the diff has 4 changed lines
lines: edited, the diff has 2 changed lines
jobs:
  deploy:
    when: manual
    env:
    REGION: us
    DRY_RUN: "1"
carriage returns in lines: 0 of 3
TEXT
echo "@modelcontextprotocol/server-filesystem $(node -p 'require("./node_modules/@modelcontextprotocol/server-filesystem/package.json").version')"
cat now
diff seen now && echo 'as seen'

#!/bin/sh
# Qwen Code takes over Claude Code's hooks. In Claude Code, UserPromptSubmit runs once for each prompt, before the model is asked, and a call has one tool_use_id in all hooks, which is the one in the
# transcript. One expects the same. In Qwen Code, UserPromptSubmit runs again after each batch of tools, with an empty prompt; and PreToolUse and PostToolUse have an invented tool_use_id, PostToolBatch and
# the transcript the model's own. A hook that counts prompts, or adds text to each, does so at every step; one that joins calls by their ids finds none. tool_call_id has the model's id in all of them.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir home project project/.qwen
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @qwen-code/qwen-code@0.24.4 >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 >/dev/null
cat >model.js <<'JS'
// A model that calls one tool and then says that it is done.
require("http").createServer((request, response) => {
	let text = "";
	request.on("data", (part) => (text += part)).on("end", () => {
		const { messages, stream } = JSON.parse(text || "{}");
		const done = (messages || []).some((m) => m.role === "tool");
		const call = { index: 0, id: "call_of_the_model", type: "function", function: { name: "run_shell_command", arguments: '{"command":"true","is_background":false}' } };
		const message = { role: "assistant", content: done ? "Done." : "", ...(done ? {} : { tool_calls: [call] }) };
		const reason = done ? "stop" : "tool_calls", base = { id: "x", model: "m", created: 1 };
		if (!stream) return response.end(JSON.stringify({ ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: reason }] }));
		const send = (delta, finish_reason) => response.write("data: " + JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] }) + "\n\n");
		response.writeHead(200, { "content-type": "text/event-stream" });
		send(message, null), send({}, reason), response.end("data: [DONE]\n\n");
	});
}).listen(8099, "127.0.0.1");
JS
node -e '
	const hooks = {};
	for (const event of ["UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch"])
		hooks[event] = [{ hooks: [{ type: "command", command: "{ cat; echo; } >>../heard" }] }];
	console.log(JSON.stringify({ hooks }));
' >project/.qwen/settings.json
cd project
unshare -rn sh -c '
	ip link set lo up
	node ../model.js & model=$!
	sleep 1
	env -i HOME="$0/home" PATH="$0/node_modules/.bin:$PATH" OPENAI_BASE_URL=http://127.0.0.1:8099/v1 OPENAI_API_KEY=dummy OPENAI_MODEL=m \
		qwen --auth-type openai --approval-mode yolo -p "Do it." >../said 2>&1 </dev/null || cat ../said
	kill $model
' "$dir"
node -e '
	const id = (text) => (text || "").startsWith("toolu_") ? "an invented id" : text;
	for (const line of require("fs").readFileSync("../heard", "utf8").trim().split("\n")) {
		const { hook_event_name: event, prompt, tool_use_id, tool_call_id, tool_calls } = JSON.parse(line);
		console.log(event + ":", prompt !== undefined ? JSON.stringify(prompt) : tool_calls ? id(tool_calls[0].tool_use_id) : id(tool_use_id) + ", " + tool_call_id);
	}
' >../now
cat >../seen <<'TEXT'
UserPromptSubmit: "Do it."
PreToolUse: an invented id, call_of_the_model
PostToolUse: an invented id, call_of_the_model
PostToolBatch: call_of_the_model
UserPromptSubmit: ""
TEXT
echo "@qwen-code/qwen-code 0.24.4"
cat ../now
diff ../seen ../now && echo 'as seen'

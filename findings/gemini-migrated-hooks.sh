#!/bin/sh
# Gemini CLI takes over the hooks of Claude Code by "gemini hooks migrate --from-claude". Claude Code counts the timeout of a hook in seconds,
# Gemini CLI in milliseconds, as its own documentation in the package says. One expects that 30 becomes 30000. The number is
# copied: the hook has 30 milliseconds, in which hardly a program starts. A hook that is a prompt becomes an object
# with its timeout and nothing to do, and events that Gemini CLI does not have are copied under Claude's names, where nothing calls them. The command says that
# all were migrated. A hook that guards or records is then cut off at each call, or never runs.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir home project project/.claude
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @google/gemini-cli@0.61.0 >/dev/null
cat >project/.claude/settings.json <<'JSON'
{"hooks": {
	"PreToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "sh guard.sh", "timeout": 30}]}],
	"Stop": [{"hooks": [{"type": "prompt", "prompt": "Are all tests green?", "timeout": 20}]}],
	"PostToolUseFailure": [{"hooks": [{"type": "command", "command": "sh tell.sh"}]}]
}}
JSON
cd project
gemini() { env -i HOME="$dir/home" PATH="$PATH" GEMINI_CLI_TRUST_WORKSPACE=true unshare -rn ../node_modules/.bin/gemini "$@" 2>&1; }
{
	gemini hooks migrate --from-claude | grep -o 'Hooks successfully migrated'
	node -e '
		const { hooks } = JSON.parse(require("fs").readFileSync(".gemini/settings.json"));
		for (const event of ["BeforeTool", "AfterAgent", "PostToolUseFailure"]) console.log(event, JSON.stringify(hooks[event][0].hooks));
	'
	echo 'its documentation:'
	grep -o 'default is 60000ms' ../node_modules/@google/gemini-cli/bundle/docs/hooks/best-practices.md
} >../now
cat >../seen <<'TEXT'
Hooks successfully migrated
BeforeTool [{"command":"sh guard.sh","type":"command","timeout":30}]
AfterAgent [{"timeout":20}]
PostToolUseFailure [{"command":"sh tell.sh","type":"command"}]
its documentation:
default is 60000ms
TEXT
echo "@google/gemini-cli $(gemini --version)"
cat ../now
diff ../seen ../now && echo 'as seen'

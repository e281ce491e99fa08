#!/bin/sh
# Fetches coding agents from npm, unless they are in the cache: agents.sh [--older | --newest] [NAME...], all of them by default (2.2 GB). They are
# .tools/NAME in the pinned version, .tools/NAME-older in the one before, or .tools/NAME-newest in the newest that npm has. Nothing of theirs is in
# this repository. Licences: Claude Code is proprietary (all rights reserved), GitHub Copilot CLI has a licence of its own, Codex CLI, Gemini CLI and Qwen Code are Apache-2.0, Kilo, opencode and pi are
# MIT. If one cannot be had, the script says so, and fails too if CI=true. Where the machine's Node is older than an agent needs, npm's package node is
# .tools/node.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

# pin NAME prints the package of an agent, the version that is pinned, an older one, and the package of that if it had another name.
pin() {
	case $1 in
	claude) echo @anthropic-ai/claude-code 2.1.332 2.1.330 ;;
	codex) echo @openai/codex 0.171.0 0.169.0 ;;
	gemini) echo @google/gemini-cli 0.61.0 0.60.0 ;;
	copilot) echo @github/copilot 1.0.102 1.0.102 ;;
	kilo) echo @kilocode/cli 7.7.7 7.7.7 ;;
	opencode) echo opencode-ai 1.18.33 1.18.32 ;;
	pi) echo @earendil-works/pi-coding-agent 1.6.0 0.73.1 @mariozechner/pi-coding-agent ;;
	qwen) echo @qwen-code/qwen-code 0.24.4 0.24.2 ;;
	node) echo node 22.23.3 22.23.3 ;;
	*) echo "agents.sh: unknown agent $1" >&2 && return 2 ;;
	esac
}

# unpack FOLDER unpacks the program of GitHub Copilot CLI once, instead of once for each home of a test.
unpack() {
	env -i HOME="$1/home" PATH="$PATH" COPILOT_OFFLINE=true COPILOT_PKG_CACHE_HOME="$1" "$1/node_modules/.bin/copilot" --version >/dev/null 2>&1
}

failed=
fetch() { # NAME PACKAGE VERSION LINK
	tool=$1-$3
	if [ ! -e "$cache/$tool" ]; then
		work=$cache/$tool.$$
		trap 'rm -rf "$work"' EXIT
		case $1 in # whose own scripts have to run
		opencode | node) scripts=--foreground-scripts ;;
		*) scripts=--ignore-scripts ;;
		esac
		if ! npm install --prefix "$work" --no-save $scripts --no-audit --no-fund --loglevel=error "$2@$3" >&2 ||
			{ [ "$1" = claude ] && ! (cd "$work/node_modules/$2" && node install.cjs >/dev/null); } ||
			{ [ "$1" = copilot ] && ! unpack "$work"; }; then
			echo "*** no $1: it cannot be fetched: the tests that need it are skipped"
			failed=$1
			rm -rf "$work"
			return 0
		fi
		keep "$work" "$tool"
	fi
	use "$tool" "$4"
}

which=
case ${1:-} in --older | --newest) which=${1#-} && shift ;; esac
for name in ${*:-claude codex gemini qwen copilot kilo opencode pi}; do
	pinned=$(pin "$name")
	set -- $pinned
	case $which in
	-older) fetch "$name" "${4:-$1}" "$3" "$name-older" ;;
	-newest) fetch "$name" "$1" "$(npm view "$1" version || echo "$2")" "$name-newest" ;;
	*) fetch "$name" "$1" "$2" "$name" ;;
	esac
	case $name in
	pi | qwen) [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 22 ] || fetch node $(pin node | cut -d' ' -f1,2) node ;;
	esac
done
[ -z "$failed" ] || [ "${CI:-}" != true ]

#!/bin/sh
# Fetches coding agents from npm, unless they are in the cache: agents.sh [NAME...], all of them by default (2.1 GB). Nothing of theirs is in
# this repository. Licences: Claude Code is proprietary (all rights reserved), GitHub Copilot CLI has a licence of its own, Codex CLI and
# Gemini CLI are Apache-2.0, Kilo, opencode and pi are MIT. If one cannot be had, the script says so, and fails too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh

failed=
fetch() { # NAME PACKAGE VERSION
	tool=$1-$3
	if [ ! -e "$cache/$tool" ]; then
		work=$cache/$tool.$$
		trap 'rm -rf "$work"' EXIT
		case $1 in # whose own scripts have to run
		opencode) scripts=--foreground-scripts ;;
		*) scripts=--ignore-scripts ;;
		esac
		if ! npm install --prefix "$work" --no-save $scripts --no-audit --no-fund --loglevel=error "$2@$3" ||
			{ [ "$1" = claude ] && ! (cd "$work/node_modules/$2" && node install.cjs >/dev/null); }; then
			echo "*** no $1: it cannot be fetched: the tests that need it are skipped"
			failed=$1
			rm -rf "$work"
			return 0
		fi
		keep "$work" "$tool"
	fi
	use "$tool" "$1"
}

for name in ${*:-claude codex gemini copilot kilo opencode pi}; do
	case $name in
	claude) fetch claude @anthropic-ai/claude-code 2.1.330 ;;
	codex) fetch codex @openai/codex 0.169.0 ;;
	gemini) fetch gemini @google/gemini-cli 0.61.0 ;;
	copilot) fetch copilot @github/copilot 1.0.102 ;;
	kilo) fetch kilo @kilocode/cli 7.7.7 ;;
	opencode) fetch opencode opencode-ai 1.18.33 ;;
	pi) fetch pi @mariozechner/pi-coding-agent 0.73.1 ;;
	*) echo "agents.sh: unknown agent $name" >&2 && exit 2 ;;
	esac
done
[ -z "$failed" ] || [ "${CI:-}" != true ]

#!/bin/sh
# make.sh BINARY FILE makes a small repository with a binary of git-smithers, and writes its runs to FILE as a
# git bundle. Every version of the format leaves a bundle here, which later versions open: testdata/script/format-<n>.txtar.
# (testdata/smithers/imported.bundle has the runs of git-run-fork-replay.db as 0.1 imported them; nothing makes it anew.)
set -eu
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
file=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/repo"
ln -s "$binary" "$work/bin/git-smithers"
PATH=$work/bin:$PATH HOME=$work GIT_CONFIG_NOSYSTEM=1
GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
GIT_AUTHOR_DATE=2026-01-02T03:04:05Z GIT_COMMITTER_DATE=2026-01-02T03:04:05Z
export PATH HOME GIT_CONFIG_NOSYSTEM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
export GIT_AUTHOR_DATE GIT_COMMITTER_DATE

cd "$work/repo"
git init -q -b main .
cat >flow.yaml <<'EOF'
name: flow
outputs:
  count: {type: object}
tasks:
  - {id: one, output: count, run: "echo '{\"n\":1}'"}
  - {id: two, output: count, needs: [one], run: "echo '{\"n\":2}'; echo text >made.txt"}
EOF
git add . && git commit -q -m first
git smithers run flow.yaml --run-id done
git smithers run flow.yaml --run-id gone
git smithers fork done:2 --run-id fork --label again
git smithers prune gone
# A run of another engine: a frame with ids, a tool call, and a value large enough to be stored in parts.
long=$(seq -s ' ' 20000)
git smithers capture engine --batch >/dev/null <<CAPTURES
{"worktree":false,"changes":[{"op":"set","collection":"nodes","key":"n::0","value":{"state":"in-progress"}},{"op":"set","collection":"attempts","key":"n::0::1","value":{"state":"in-progress","startedAtMs":1}}]}
{"worktree":false,"ids":["call-1","call-2"],"changes":[{"op":"set","collection":"tool-calls","key":"n::0::1::1","value":{"toolName":"bash","startedAtMs":2,"status":"succeeded","input":{"command":"ls"},"output":"made.txt"}}]}
{"worktree":false,"ids":["call-3"],"changes":[{"op":"set","collection":"outputs/logs","key":"n::0","value":"$long"}]}
CAPTURES
git smithers import --run run-a "$here/../smithers/git-run-fork-replay.db"
git bundle create --quiet "$file" --glob='refs/smithers/*'

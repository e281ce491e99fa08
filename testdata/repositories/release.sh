#!/bin/sh
# release.sh BINARY FILE makes a repository with a run of each kind that a release knows, and writes it to FILE as a git bundle.
# Every release leaves a bundle here, which later versions open and go on with: testdata/script/upgrade-<version>.txtar.
set -eu
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
file=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/repo"
ln -s "$binary" "$work/bin/git-smithers"
PATH=$work/bin:$PATH HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_SMITHERS_WORKTREE=all
GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
export PATH HOME GIT_CONFIG_NOSYSTEM GIT_SMITHERS_WORKTREE GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

cd "$work/repo"
git init -q -b main .
cat >inner.yaml <<'FLOW'
name: inner
tasks:
  - {id: deep, run: "echo deep >deep.txt; echo 2"}
FLOW
cat >flow.yaml <<'FLOW'
name: flow
outputs: {count: {}}
tasks:
  - id: build
    cache: true
    output: count
    run: 'echo built >built.txt; echo ''{"tool":"bash","input":{"command":"make"},"output":"ok","effect":true,"undo":"echo undone >>undone.txt"}'' >>"$SMITHERS_TOOL_CALLS"; echo 1'
    scorers:
      - {name: judge, run: "echo 0.75"}
  - {id: each, needs: [build], matrix: {size: [1, 2]}, run: 'true'}
  - {id: inner, needs: [build], workflow: inner.yaml}
  - {loop: again, until: iteration == 1, max: 3, tasks: [{id: round, needs: [each], run: 'true'}]}
  - {id: ok, needs: [again, inner], approval: {title: "Go on?"}}
  - {id: go, needs: [ok], wait_for: {signal: go}}
  - {id: last, needs: [go], run: "echo last >>built.txt"}
FLOW
git add . && git commit -q -m first
git smithers check flow.yaml >/dev/null
git smithers run flow.yaml --run-id done || [ $? = 3 ]
git smithers approve done
git smithers signal done go '{"n":1}'
git smithers resume done
git clean -qfd # the same files: a result of the cache fits
git smithers run flow.yaml --run-id waits || [ $? = 3 ]
git smithers fork done:4 --run-id fork --label again
git smithers run inner.yaml --run-id sealed && git smithers seal sealed

# a session of a coding agent with two turns, and a course of its own
printf '%s\n' '{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","message":{"role":"user","content":"begin"}}' >../conversation
hook() { git smithers session hook claude "$1" <<INPUT
{"session_id":"s1","transcript_path":"$work/conversation","hook_event_name":"$1"$2}
INPUT
}
hook UserPromptSubmit ',"prompt":"begin"'
echo one >session.txt
hook PostToolBatch ',"tool_calls":[{"tool_name":"Write","tool_use_id":"toolu_1"}]'
hook Stop ''
hook UserPromptSubmit ',"prompt":"go on"'
hook Stop ''
hook SessionEnd ''

git bundle create --quiet "$file" main --glob='refs/smithers/*'

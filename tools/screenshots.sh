# Draws docs/pictures: the terminal view with a session, and with runs that failed, wait and run. Each picture is an SVG of a screen of tmux,
# light and dark. It needs tmux, git, script(1), and git-smithers and git-smithers-desk on the PATH.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/smithers-pictures.XXXXXX")
socket=$scratch/tmux
trap 'tmux -S "$socket" kill-server 2>/dev/null || :; rm -rf "$scratch"' EXIT
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY NO_COLOR
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$scratch/.gitconfig" CLAUDE_CONFIG_DIR="$scratch/claude" LC_ALL=C.UTF-8 GIT_SMITHERS_FSYNC=0
PATH=$top/testdata/demo/agent:$PATH
git config --file "$GIT_CONFIG_GLOBAL" user.name Demo
git config --file "$GIT_CONFIG_GLOBAL" user.email demo@localhost.invalid
git config --file "$GIT_CONFIG_GLOBAL" init.defaultBranch main
mkdir -p "$top/docs/pictures"
cd "$top/tools" && GOFLAGS=-trimpath go build -o "$scratch/screenshot" ./screenshot

# picture NAME SIZE ADDRESS TITLE KEYS... draws the view at an address after some keys.
picture() {
	name=$1 size=$2 address=$3 title=$4
	shift 4
	tmux -S "$socket" -f /dev/null new-session -d -x "${size%x*}" -y "${size#*x}" "TERM=xterm-256color git smithers tui $address"
	sleep 1.5
	for key; do
		tmux -S "$socket" send-keys "$key"
		sleep 0.4
	done
	sleep 1
	tmux -S "$socket" capture-pane -e -p >"$scratch/screen"
	tmux -S "$socket" kill-server
	for theme in light dark; do
		"$scratch/screenshot" -theme $theme -columns "${size%x*}" -title "$title" <"$scratch/screen" >"$top/docs/pictures/$name-$theme.svg"
	done
	sed 's/\x1b\[[0-9;]*m//g' "$scratch/screen"
}

# shot NAME SIZE COMMAND TITLE draws what a command prints.
shot() {
	tmux -S "$socket" -f /dev/null new-session -d -x "${2%x*}" -y "${2#*x}" "TERM=xterm-256color; export TERM; $3; sleep 9"
	sleep 2
	tmux -S "$socket" capture-pane -e -p >"$scratch/screen"
	tmux -S "$socket" kill-server
	for theme in light dark; do
		"$scratch/screenshot" -theme $theme -columns "${2%x*}" -title "$4" <"$scratch/screen" >"$top/docs/pictures/$1-$theme.svg"
	done
	sed 's/\x1b\[[0-9;]*m//g' "$scratch/screen"
}

cp -R "$top/testdata/demo/project" "$scratch/slug"
cd "$scratch/slug"
git init -q
git add .
git commit -q -m 'slug: titles to URL names'

# A session, with another course from its third prompt. Its pace is that of a terminal.
git smithers session enable claude
script -qec claude /dev/null
script -qec "$(git smithers session what-if @:turn:3 'Make it faster. Leave tests/ alone.' --to ../again --no-start)" /dev/null
picture session 100x24 @:11 'A session of a coding agent in git smithers tui: the third turn has removed two lines of tests/cases.' 2

# Three courses of the third prompt, judged by the tests.
git add . && git commit -qm 'slug: no doubled dashes'
printf '%s\n' 'Make it faster.' 'Make it faster. Leave tests/ alone.' 'Make it shorter.' >../prompts.txt
git smithers session what-if @:turn:3 --prompts ../prompts.txt --run --yes --group faster
git smithers compare --group faster --score 'sh tests/run >&2 && wc -l <tests/cases'
shot courses 124x8 "PAGER=cat git smithers show faster" 'Three courses of one prompt, judged by the tests: the star marks the best.'

git stash -q
git smithers run fix.yaml --run-id strict --input '{"issue":"doubled dashes","style":"strict"}' || :
git smithers replay fix.yaml strict:6 --label relaxed --input '{"style":"relaxed"}'
git stash -q
picture failed 100x30 strict 'A run that has failed in git smithers tui: the review says why.'

git smithers run release.yaml --run-id release || :
picture waiting 100x24 release 'A run that waits for an approval in git smithers tui.'

cat >nightly.yaml <<'END'
name: nightly
tasks:
  - {id: fetch, run: "sleep 1; echo 120 titles"}
  - {id: slugs, needs: [fetch], run: "i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo title $i; sleep 0.2; done"}
  - {id: publish, needs: [slugs], run: "echo done"}
END
git smithers run nightly.yaml --run-id nightly >/dev/null 2>&1 &
sleep 6
picture running 100x30 nightly 'A run that runs in git smithers tui: its log moves along.'
picture runs 100x24 '' 'The list of runs in git smithers tui: what runs or waits for somebody comes first.'
git smithers cancel nightly
wait

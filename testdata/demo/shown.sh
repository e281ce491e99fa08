# What the demonstrations share: a scratch repository, and commands that are shown as they are typed.
# At a terminal a demonstration stops after each screen; DEMO_PAUSE=0 keeps it from that.
set -eu

project=$(cd "$(dirname "$0")/project" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/smithers-demo.XXXXXX")

# Nothing of the surroundings leaks in, and nothing leaks out.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$scratch/.gitconfig" GIT_PAGER=cat NO_COLOR=1
git config --file "$GIT_CONFIG_GLOBAL" user.name 'Demo'
git config --file "$GIT_CONFIG_GLOBAL" user.email 'demo@localhost.invalid'
git config --file "$GIT_CONFIG_GLOBAL" init.defaultBranch main

# At a terminal, a person reads along: one part at a time, and no more than a screen of it.
screen=0
if [ -t 0 ] && [ -t 1 ] && [ "${DEMO_PAUSE-1}" != 0 ]; then
	screen=$(stty size | cut -d ' ' -f 1)
	[ "$screen" -ge 12 ] || screen=24
fi
printed=0

# pause waits for Enter. q ends the demo.
pause() {
	[ "$screen" -gt 0 ] && [ "$printed" -gt 0 ] || return 0
	printf '\n-- Enter goes on, q ends --'
	read -r key || key=q
	[ "$key" != q ] || exit 0
	printed=0
}

# room LINES pauses if that many lines do not fit below what is printed already.
room() {
	[ $((printed + $1 + 3)) -le "$screen" ] || pause
	printed=$((printed + $1))
}

# screens prints what a command has shown, a screen at a time.
screens() {
	lines=$(wc -l <"$scratch/shown")
	room "$lines"
	at=1
	while [ $((lines - at)) -gt $((screen - 4)) ]; do
		sed -n "$at,$((at + screen - 4))p" "$scratch/shown"
		pause
		at=$((at + screen - 3)) printed=$((lines - at + 1))
	done
	sed -n "$at,\$p" "$scratch/shown"
}

say() {
	pause
	printf '\n# %s\n' "$*"
	printed=3
}

# show COMMAND... types a command line and runs it. A failure ends the demo, and so does a command that prints nothing. What runs a workflow writes
# to the terminal itself, so that its progress is seen.
show() {
	case $* in
	*smithers\ run* | *smithers\ re[ps]* | *--resume*)
		room 14
		printf '$ %s\n' "$*"
		eval "$*" </dev/null
		;;
	*)
		{ printf '$ %s\n' "$*" && eval "$*"; } >"$scratch/shown" 2>&1 </dev/null || { cat "$scratch/shown"; exit 1; }
		case $(wc -l <"$scratch/shown"),$* in
		*status* | *fsck* | *,sed*mv*) ;; # what these say is that there is nothing to say
		1,*) echo "this should have shown something: $*" >&2 && exit 1 ;;
		esac
		if [ "$screen" -gt 0 ]; then screens; else cat "$scratch/shown"; fi
		;;
	esac
}

# plays COMMAND shows a command that talks while it runs.
plays() {
	room 20
	printf '$ %s\n' "$*"
	eval "$*" </dev/null
}

# fails COMMAND... shows a command that must fail.
fails() {
	room 14
	printf '$ %s\n' "$*"
	if eval "$*" </dev/null; then
		echo "this should have failed" >&2
		exit 1
	else
		printf '(exit status %d)\n' "$?"
	fi
}

cp -R "$project" "$scratch/slug"
cd "$scratch/slug"
git init -q
git add .
git commit -q -m 'slug: titles to URL names'

#!/bin/sh
# Codex CLI changes files with a patch format of its own, by its tool apply_patch. "Add File" of a file that exists, and "Move to" the name of
# one, are mistakes that one expects to be refused, as "git apply" does, and a patch of which one file does not fit to change
# none. Both replace the file that is there and call it a success; what was in it is nowhere, if git did not have it. A patch
# that fails at its second file has changed its first. A moved program is no program any more: its executable bit is gone.
# Nothing of it is in the output; only a copy of the folder from before tells.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir home
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @openai/codex@0.171.0 >/dev/null
codex=$(find "$dir/node_modules/@openai" -path '*/vendor/*' -name codex -type f)
{
	echo mine >note
	echo old >from
	echo mine >to
	printf '#!/bin/sh\necho one\n' >program
	chmod +x program
	echo x >first
	echo y >second
	# The program runs without a network, an environment and a home.
	apply() {
		printf '%s\n' "$1"
		patch=$(printf '*** Begin Patch\n%b\n*** End Patch' "$2")
		env -i HOME="$dir/home" PATH="$PATH" unshare -rn "$codex" --codex-run-as-apply-patch "$patch" 2>&1 | sed "s|$dir/||g; s/^/  /"
	}
	apply 'add a file that is there' '*** Add File: note\n+theirs'
	echo "  note: $(cat note)"
	apply 'move to a file that is there' '*** Update File: from\n*** Move to: to\n@@\n-old\n+new'
	echo "  to: $(cat to)"
	apply 'move a program' '*** Update File: program\n*** Move to: moved\n@@\n-echo one\n+echo two'
	test -x moved && echo '  moved: executable' || echo '  moved: not executable'
	apply 'a patch whose second file does not fit' '*** Update File: first\n@@\n-x\n+changed\n*** Update File: second\n@@\n-z\n+changed'
	echo "  first: $(cat first), second: $(cat second)"
} >now
cat >seen <<'TEXT'
add a file that is there
  Success. Updated the following files:
  A note
  note: theirs
move to a file that is there
  Success. Updated the following files:
  M to
  to: new
move a program
  Success. Updated the following files:
  M moved
  moved: not executable
a patch whose second file does not fit
  Failed to find expected lines in second:
  z
  first: changed, second: y
TEXT
"$codex" --version
cat now
diff seen now && echo 'as seen'

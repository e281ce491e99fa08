#!/bin/sh
# In a repository of git and jj, jj marks each new file in git's index as one to be added (intent to add). One expects
# that git's commands work as before. "git stash", "git stash create" and "git rebase --autostash" fail as soon as
# "jj status" has seen a new file, also if they are asked for another file alone. A program that saves an agent's files
# by "git stash create" before each step saves nothing until the new file is committed. After "git reset" the commands
# work, until jj sees another new file.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir home
npm init -y >/dev/null
package=@smithers-orchestrator/jj-$(node -p 'process.platform + "-" + process.arch')
npm install --silent --no-audit --no-fund --ignore-scripts "$package@0.32.0" >/dev/null
chmod +x "node_modules/$package/bin/jj"
export PATH="$dir/node_modules/$package/bin:$PATH" HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1 LC_ALL=C JJ_USER=A JJ_EMAIL=a@example.org
unset XDG_CONFIG_HOME JJ_CONFIG
git config --global user.name A
git config --global user.email a@example.org
git init -q -b main here
cd here
echo one >old
git add .
git commit -qm one
echo two >old
echo 'of the agent' >new

try() {
	status=0
	"$@" >../out 2>&1 || status=$?
	echo "  $*: exit $status$(sed -n 's/^\(error: .*\)/, \1/p' ../out)"
}
all() {
	echo "$1: $(git status --short | tr '\n' ',')"
	try git stash create
	try git stash push --quiet -- old
	[ "$status" != 0 ] || git stash pop -q
	try git rebase --autostash HEAD
}
{
	all 'before jj'
	jj git init --colocate >/dev/null 2>&1
	jj status >/dev/null 2>&1
	all 'after jj status'
	git reset -q
	all 'after git reset'
	echo 'of the agent' >newer
	jj status >/dev/null 2>&1
	all 'after another new file and jj status'
} >../now
cat >../seen <<'TEXT'
before jj:  M old,?? new,
  git stash create: exit 0
  git stash push --quiet -- old: exit 0
  git rebase --autostash HEAD: exit 0
after jj status:  A new, M old,
  git stash create: exit 1, error: Entry 'new' not uptodate. Cannot merge.
  git stash push --quiet -- old: exit 1, error: Entry 'new' not uptodate. Cannot merge.
  git rebase --autostash HEAD: exit 128, error: Entry 'new' not uptodate. Cannot merge.
after git reset:  M old,?? new,
  git stash create: exit 0
  git stash push --quiet -- old: exit 0
  git rebase --autostash HEAD: exit 0
after another new file and jj status:  A newer, M old,?? new,
  git stash create: exit 1, error: Entry 'newer' not uptodate. Cannot merge.
  git stash push --quiet -- old: exit 1, error: Entry 'newer' not uptodate. Cannot merge.
  git rebase --autostash HEAD: exit 128, error: Entry 'newer' not uptodate. Cannot merge.
TEXT
echo "$(jj --version | sed 's/-.*//'), $(git --version)"
cat ../now
diff ../seen ../now

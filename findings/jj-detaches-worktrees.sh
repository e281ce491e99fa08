#!/bin/sh
# If jj moves a branch that a linked worktree of git has checked out, as a new message for an older commit does, it
# detaches the worktree's HEAD at the old commit. jj means to, and says nothing. One expects that jj refuses, as
# "git branch -f" does, or that the worktree stays on its branch. An agent in the worktree goes on: its commits are on no
# branch, a push of the branch leaves them out, jj does not see them, and nothing keeps them if the worktree is removed.
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
for n in 1 2; do
	echo $n >"file$n"
	git add .
	git commit -qm "main $n"
done
git worktree add -q -b agent ../there
commit() {
	echo "$1" >"../there/$1"
	git -C ../there add .
	git -C ../there commit -qm "$1"
}
show() { # what is checked out in the worktree and in the branch, and what jj sees of the agent's commits
	echo "$1: worktree on $(git -C ../there symbolic-ref -q --short HEAD || echo 'no branch') at '$(git -C ../there log -1 --format=%s)'"
	echo "  branch agent at '$(git log -1 --format=%s agent)', jj sees $(jj log --no-graph -r 'description(substring:"agent")' -T 'description.first_line() ++ "; "' 2>/dev/null | sed 's/ $//')"
}
{
	commit 'agent 1'
	jj git init --colocate >/dev/null 2>&1
	show 'before'
	git branch -f agent main 2>/dev/null || echo 'git branch -f agent main is refused'
	jj describe -r main -m 'main 2, better told' 2>&1 | sed 's/: [a-z]* [0-9a-f]* /: /; s/^/jj describe -r main says: /'
	show 'after'
	commit 'agent 2'
	show 'after another commit there'
} >../now
cat >../seen <<'TEXT'
before: worktree on agent at 'agent 1'
  branch agent at 'agent 1', jj sees agent 1;
git branch -f agent main is refused
jj describe -r main says: Rebased 2 descendant commits
jj describe -r main says: Working copy  (@) now at: (empty) (no description set)
jj describe -r main says: Parent commit (@-)      : main | main 2, better told
after: worktree on no branch at 'agent 1'
  branch agent at 'agent 1', jj sees agent 1;
after another commit there: worktree on no branch at 'agent 2'
  branch agent at 'agent 1', jj sees agent 1;
TEXT
echo "$(jj --version | sed 's/-.*//'), $(git --version)"
cat ../now
diff ../seen ../now

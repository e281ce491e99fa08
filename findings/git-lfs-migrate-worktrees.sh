#!/bin/sh
# "git lfs migrate import --everything" also rewrites the branches that linked worktrees have checked out. One expects
# that it refuses, as "git branch -f" does, or that it updates those worktrees, as it updates the one in which it runs.
# It exits with 0 and leaves their index and files as they were, so that the opposite of the migration is staged there.
# An agent that works in such a worktree commits a file of its own: the commit takes the big file back into git, and
# deletes .gitattributes.
set -eu
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
mkdir bin home
GOBIN=$dir/bin go install github.com/git-lfs/git-lfs/v3@v3.7.1 2>/dev/null
export PATH="$dir/bin:$PATH" HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1
git config --global user.name A
git config --global user.email a@example.org
git init -q -b main here
cd here
git lfs install --local >/dev/null
echo 'of the file' >big.dat
echo text >file
git add .
git commit -qm first
git worktree add -q -b agent ../there

show() { # what a branch has, and what its worktree has staged
	echo "$1: $(git -C "$2" ls-tree --name-only HEAD | tr '\n' ' ')with big.dat as $(git -C "$2" show HEAD:big.dat | sed 's/^version.*/a pointer/;q'), staged: $(git -C "$2" diff --cached --name-status | tr '\t\n' ' ,' | grep . || echo nothing)"
}
{
	git branch -f agent main 2>/dev/null || echo 'git branch -f agent main is refused'
	git lfs migrate import --everything --include='*.dat' >../said 2>&1 && echo "git lfs migrate exits with 0 and says worktree $(grep -ci worktree ../said || true) times"
	show 'main, where it ran' .
	show 'agent' ../there
	echo more >../there/new
	git -C ../there add new
	git -C ../there commit -qm 'only a new file'
	show 'agent after a commit of a new file' ../there
} >../now
cat >../seen <<'TEXT'
git branch -f agent main is refused
git lfs migrate exits with 0 and says worktree 0 times
main, where it ran: .gitattributes big.dat file with big.dat as a pointer, staged: nothing
agent: .gitattributes big.dat file with big.dat as a pointer, staged: D .gitattributes,M big.dat,
agent after a commit of a new file: big.dat file new with big.dat as of the file, staged: nothing
TEXT
git lfs version
git version
cat ../now
diff ../seen ../now

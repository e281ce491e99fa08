#!/bin/sh
# "git lfs push --all REMOTE" is documented to push the objects of all local refs. It pushes those of branches and tags
# alone: an object that only another ref needs, such as refs/notes/… or a ref of a tool of its own, stays here without a
# word, and whoever fetches the ref gets a pointer whose file nobody has. A git push of the ref sends the object, by the
# pre-push hook that git-lfs installs; so a push with --no-verify, or by a program that runs no hooks, does not, and
# push --all does not catch up.
set -eu
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
mkdir bin home
GOBIN=$dir/bin go install github.com/git-lfs/git-lfs/v3@v3.7.1 2>/dev/null
export PATH="$dir/bin:$PATH" HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1
git config --global user.name A
git config --global user.email a@example.org
git init -q --bare remote
git init -q -b main here
cd here
git lfs install --local >/dev/null
git lfs track '*.dat' >/dev/null
echo 'of the branch' >branch.dat
git add .
git commit -qm branch
git remote add origin ../remote
git checkout -q --detach
echo 'of another ref' >other.dat
git add .
git commit -qm other
git update-ref refs/kept/one HEAD
git checkout -q main

there() { find ../remote/lfs/objects -type f 2>/dev/null | wc -l; }
{
	echo "objects here: $(find .git/lfs/objects -type f | wc -l)"
	git lfs push --all origin >/dev/null 2>&1
	echo "at the remote after push --all: $(there)"
	git push -q --no-verify origin main refs/kept/one
	git lfs push --all origin >/dev/null 2>&1
	echo "after a git push of both refs without hooks, and push --all: $(there)"
	git lfs push origin refs/kept/one >/dev/null 2>&1
	echo "after lfs push of that ref by name: $(there)"
} >../now
cat >../seen <<'TEXT'
objects here: 2
at the remote after push --all: 1
after a git push of both refs without hooks, and push --all: 1
after lfs push of that ref by name: 2
TEXT
git lfs version
cat ../now
diff ../seen ../now

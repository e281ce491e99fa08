#!/bin/sh
# In a repository of git and jj, jj marks each new file in git's index as one to be added (intent to add). "git commit"
# leaves such a file out. One expects that other programs which write git's commits leave it out, too, or refuse. go-git,
# GitPython, Dulwich and pygit2 commit it as an empty file if another file is added and committed, without a word; so
# does the MCP server of git, which uses GitPython. An agent that commits one file this way commits all its new files
# as empty ones, and so they are in every other checkout of the commit. isomorphic-git leaves them out.
set -eu
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
mkdir home go
npm init -y >/dev/null
package=@smithers-orchestrator/jj-$(node -p 'process.platform + "-" + process.arch')
npm install --silent --no-audit --no-fund --ignore-scripts "$package@0.32.0" isomorphic-git@1.44.19 >/dev/null
chmod +x "node_modules/$package/bin/jj"
python3 -m venv python
python/bin/pip install -q --disable-pip-version-check GitPython==3.2.1 mcp-server-git==2026.10.19 dulwich==1.2.21 pygit2==1.21.0
cat >go/main.go <<'GO'
package main

import (
	"os"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	files := must(must(git.PlainOpen(os.Args[1])).Worktree())
	must(files.Add("old"))
	must(files.Commit("changed", &git.CommitOptions{Author: &object.Signature{Name: "A", Email: "a@example.org", When: time.Now()}}))
}
GO
cat >commit.mjs <<'JS'
import fs from "node:fs";
import git from "isomorphic-git";

const dir = process.argv[2];
await git.add({ fs, dir, filepath: "old" });
await git.commit({ fs, dir, message: "changed", author: { name: "A", email: "a@example.org" } });
JS
cat >gitpython.py <<'PY'
import sys, git
index = git.Repo(sys.argv[1]).index
index.add(["old"])
index.commit("changed")
PY
cat >server.py <<'PY'
import sys, git
from mcp_server_git.server import git_add, git_commit
repository = git.Repo(sys.argv[1])
git_add(repository, ["old"])
git_commit(repository, "changed")
PY
cat >dulwich.py <<'PY'
import sys
sys.path.pop(0)  # this file's own folder, which has a dulwich.py
from dulwich import porcelain
porcelain.add(sys.argv[1], paths=[sys.argv[1] + "/old"])
porcelain.commit(sys.argv[1], message=b"changed", author=b"A <a@example.org>", committer=b"A <a@example.org>")
PY
cat >pygit2.py <<'PY'
import sys
sys.path.pop(0)
import pygit2
repository = pygit2.Repository(sys.argv[1])
repository.index.add("old")
repository.index.write()
who = pygit2.Signature("A", "a@example.org")
repository.create_commit("HEAD", who, who, "changed", repository.index.write_tree(), [repository.head.target])
PY
cd go
go mod init example.org/commit 2>/dev/null
go get github.com/go-git/go-git/v5@v5.19.3 2>/dev/null
go build -o ../go-git .
cd ..
export PATH="$dir/node_modules/$package/bin:$PATH" HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1 JJ_USER=A JJ_EMAIL=a@example.org
unset XDG_CONFIG_HOME JJ_CONFIG
git config --global user.name A
git config --global user.email a@example.org

try() { # NAME COMMAND...: commits the file old, which is changed, with the command, to which the repository is given
	name=$1
	shift
	rm -rf here
	git init -q -b main here
	echo one >here/old
	git -C here add .
	git -C here commit -qm one
	jj git init --colocate here >/dev/null 2>&1
	echo 'another one' >here/old
	echo 'of the agent' >here/new
	jj -R here status >/dev/null 2>&1
	"$@" "$dir/here" >/dev/null
	echo "$name commits $(git -C here ls-tree -r --long HEAD | awk '{ printf "%s%s of %d bytes", comma, $5, $4; comma = ", " }')"
}
with_git() { git -C "$1" add old && git -C "$1" commit -qm changed; }
{
	try git with_git
	try isomorphic-git node commit.mjs
	try pygit2 python/bin/python pygit2.py
	try go-git ./go-git
	try GitPython python/bin/python gitpython.py
	try mcp-server-git python/bin/python server.py
	try Dulwich python/bin/python dulwich.py
} >now
cat >seen <<'TEXT'
git commits old of 12 bytes
isomorphic-git commits old of 12 bytes
pygit2 commits new of 0 bytes, old of 12 bytes
go-git commits new of 0 bytes, old of 12 bytes
GitPython commits new of 0 bytes, old of 12 bytes
mcp-server-git commits new of 0 bytes, old of 12 bytes
Dulwich commits new of 0 bytes, old of 12 bytes
TEXT
echo "$(jj --version | sed 's/-.*//'), $(git --version), go-git 5.19.3, GitPython 3.2.1, mcp-server-git 2026.10.19, Dulwich 1.2.21, pygit2 1.21.0, isomorphic-git 1.44.19"
cat now
diff seen now

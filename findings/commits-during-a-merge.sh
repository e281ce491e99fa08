#!/bin/sh
# A merge stopped at a conflict, the conflict is solved and staged, and a program makes the commit. By git, it has two parents and the merge is
# over. One expects that libraries which write git's commits make the merge as well, or refuse, since MERGE_HEAD says what is
# under way. Dulwich and the MCP server of git do. go-git, GitPython and isomorphic-git make a commit of one parent that has
# the merge's content: the other branch is not merged, git is still merging, and its author's commits are not in the
# history of what was made of them. Who then ends the state by "git merge --abort" meets the same conflicts again at the next merge.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
mkdir collector
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts isomorphic-git@1.44.19 >/dev/null
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check GitPython==3.2.1 mcp-server-git==2026.10.19 dulwich==1.2.21
printf 'module commit\n\ngo 1.24\n' >collector/go.mod
cat >collector/main.go <<'GO'
package main

import (
	"log"

	"github.com/go-git/go-git/v5"
)

func main() {
	repository, err := git.PlainOpen(".")
	if err != nil {
		log.Fatal(err)
	}
	files, err := repository.Worktree()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := files.Commit("merged", &git.CommitOptions{}); err != nil {
		log.Fatal(err)
	}
}
GO
(cd collector && go get github.com/go-git/go-git/v5@v5.19.3 >log 2>&1 && go mod tidy >>log 2>&1 && go build -o ../commit . || { cat log; exit 1; })

# by makes the commit of a merge by a command, and prints what became of it.
by() {
	name=$1
	shift
	rm -rf repository
	git init -q -b main repository
	cd repository
	git config user.name A
	git config user.email a@example.org
	echo base >file
	git add file
	git commit -qm base
	git checkout -qb topic
	echo topic >file
	git commit -qam topic
	git checkout -q main
	echo main >file
	git commit -qam main
	! git merge -q topic >/dev/null 2>&1
	echo both >file
	git add file
	"$@" >/dev/null
	merged=no still=no
	git merge-base --is-ancestor topic HEAD && merged=yes
	git rev-parse -q --verify MERGE_HEAD >/dev/null && still=yes
	echo "$name: $(git log -1 --format=%P | wc -w) parents, topic is merged: $merged, still merging: $still"
	cd ..
}
{
	by git git commit -qm merged
	by Dulwich ../py/bin/python -c 'from dulwich import porcelain; porcelain.commit(".", message=b"merged")'
	by mcp-server-git ../py/bin/python -c 'import git; from mcp_server_git.server import git_commit; git_commit(git.Repo("."), "merged")'
	by GitPython ../py/bin/python -c 'import git; git.Repo(".").index.commit("merged")'
	by go-git ../commit
	by isomorphic-git node -e 'require("isomorphic-git").commit({ fs: require("fs"), dir: ".", message: "merged", author: { name: "A", email: "a@example.org" } })'
} >now
cat >seen <<'TEXT'
git: 2 parents, topic is merged: yes, still merging: no
Dulwich: 2 parents, topic is merged: yes, still merging: no
mcp-server-git: 2 parents, topic is merged: yes, still merging: no
GitPython: 1 parents, topic is merged: no, still merging: yes
go-git: 1 parents, topic is merged: no, still merging: yes
isomorphic-git: 1 parents, topic is merged: no, still merging: yes
TEXT
py/bin/pip list --disable-pip-version-check 2>/dev/null | grep -iE 'dulwich|gitpython|mcp-server-git'
grep 'go-git/v5' collector/go.mod
cat now
diff seen now && echo 'as seen'

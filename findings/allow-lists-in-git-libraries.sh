#!/bin/sh
# Some people turn .gitignore round: it ignores everything, and names what belongs to the repository. Folders have to be let in again ("!*/"), because git looks
# into no folder that is ignored. One expects libraries that stage "everything that is not ignored" to stage what "git add --all" does. go-git takes a pattern that
# lets a folder in for one that lets in whatever is below the folder: it stages all files of all folders, a .env among them. isomorphic-git does the
# opposite: it stays out of the folders, and leaves the source out of the commit. dulwich does as git does.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1
mkdir home go
(
	cd go
	cat >main.go <<'GO'
package main

import (
	"os"

	git "github.com/go-git/go-git/v5"
)

func main() {
	repo, err := git.PlainOpen(os.Args[1])
	if err != nil {
		panic(err)
	}
	tree, err := repo.Worktree()
	if err == nil {
		err = tree.AddWithOptions(&git.AddOptions{All: true})
	}
	if err != nil {
		panic(err)
	}
}
GO
	go mod init example.com/add
	go get github.com/go-git/go-git/v5@v5.19.3
	go build -o ../go-git .
	go clean -modcache
) >/dev/null 2>&1
npm init -y >/dev/null
npm install --silent --no-audit --no-fund isomorphic-git@1.44.19 >/dev/null
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check dulwich==1.2.21
cat >isomorphic.js <<'JS'
const git = require('isomorphic-git')
git.add({ fs: require('fs'), dir: process.argv[2], filepath: '.' })
JS
cat >add_all.py <<'PY'
import os, sys
from dulwich import porcelain
os.chdir(sys.argv[1])
porcelain.add(".")
PY

# staged PATTERN... makes a repository with the patterns and prints what each program stages.
staged() {
	echo ".gitignore: $*"
	for program in git go-git isomorphic-git dulwich; do
		rm -rf repo
		git init --quiet repo
		printf '%s\n' "$@" >repo/.gitignore
		mkdir repo/src repo/build
		for file in top.go top.txt src/a.go src/.env build/a.o; do echo x >"repo/$file"; done
		case $program in
		git) git -C repo add --all ;;
		go-git) ./go-git repo ;;
		isomorphic-git) node isomorphic.js repo ;;
		dulwich) python/bin/python add_all.py repo ;;
		esac
		echo "  $program: $(git -C repo ls-files | tr '\n' ' ')"
	done
}
{
	staged '*' '!*/' '!*.go' '!.gitignore'
	staged '*' '!src' '!src/a.go'
} >now
cat >seen <<'TEXT'
.gitignore: * !*/ !*.go !.gitignore
  git: .gitignore src/a.go top.go 
  go-git: .gitignore build/a.o src/.env src/a.go top.go 
  isomorphic-git: .gitignore top.go 
  dulwich: .gitignore src/a.go top.go 
.gitignore: * !src !src/a.go
  git: src/a.go 
  go-git: src/.env src/a.go 
  isomorphic-git: src/a.go 
  dulwich: src/a.go 
TEXT
git version
cat now
diff seen now && echo 'as seen'

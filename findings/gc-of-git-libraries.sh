#!/bin/sh
# git's gc keeps what any worktree has checked out or staged, and every stash, whatever their age. One expects that of the libraries that
# offer to collect a repository as well. Two that do, one in Python and one in Go, follow branches, tags and the HEAD of the
# folder that they were given, and nothing else. Both delete what is staged, in the folder itself and in linked worktrees,
# the commits of a worktree whose HEAD is detached, and all stashes but the newest, which are in the reflog alone. The one in Go
# does so in its Prune for loose objects as in its RepackObjects for packed ones. Neither says a word; objects must be older than
# a date, as after a holiday. Agents work in detached worktrees for hours without a commit on a branch.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
python3 -m venv py
py/bin/pip install -q --disable-pip-version-check dulwich==1.2.21
mkdir collector
cat >collector/go.mod <<'MOD'
module collect

go 1.24
MOD
cat >collector/main.go <<'GO'
package main

import (
	"log"
	"os"
	"time"

	"github.com/go-git/go-git/v5"
)

func main() {
	repository, err := git.PlainOpen(".")
	if err != nil {
		log.Fatal(err)
	}
	yesterday := time.Now().AddDate(0, 0, -1)
	if os.Args[1] == "Prune" {
		err = repository.Prune(git.PruneOptions{OnlyObjectsOlderThan: yesterday, Handler: repository.DeleteObject})
	} else {
		err = repository.RepackObjects(&git.RepackConfig{OnlyDeletePacksOlderThan: yesterday})
	}
	if err != nil {
		log.Fatal(err)
	}
}
GO
(cd collector && go get github.com/go-git/go-git/v5@v5.19.3 >log 2>&1 && go mod tidy >>log 2>&1 && go build -o ../collect . || { cat log; exit 1; })

# make makes a repository with two stashes, a staged file, and a detached worktree with a commit and a staged file, all a month old.
make() {
	rm -rf repository worktree
	git init -q -b main repository
	cd repository
	echo one >file
	git add file
	git commit -qm one
	git worktree add -q --detach ../worktree
	(cd ../worktree && echo w >w && git add w && git commit -qm work && echo more >staged-there && git add staged-there)
	for name in first second; do
		echo $name >$name
		git stash push -q --include-untracked -m $name
	done
	echo new >staged-here
	git add staged-here
	[ "$1" = loose ] || git gc -q --prune=never
	find .git/objects -type f -exec touch -d '30 days ago' {} +
}
# look prints what can still be read.
look() {
	can() { git cat-file -e "$1" 2>/dev/null && echo "  $2: there" || echo "  $2: gone"; }
	echo "$1"
	can main main
	can :staged-here 'staged here'
	can 'stash@{0}' 'newest stash'
	can "$(tail -n 2 .git/logs/refs/stash | head -n 1 | cut -d ' ' -f 2)" 'older stash'
	cd ../worktree
	can "$(cat ../repository/.git/worktrees/worktree/HEAD)" 'commit of the worktree'
	can :staged-there 'staged in the worktree'
	cd ..
}
{
	make loose
	git gc -q
	look 'git gc'
	make loose
	../py/bin/python -c 'from dulwich import porcelain; porcelain.gc(".")'
	look 'dulwich porcelain.gc'
	make loose
	../collect Prune
	look 'go-git Prune'
	make packed
	../collect RepackObjects
	look 'go-git RepackObjects'
} >now
cat >seen <<'TEXT'
git gc
  main: there
  staged here: there
  newest stash: there
  older stash: there
  commit of the worktree: there
  staged in the worktree: there
dulwich porcelain.gc
  main: there
  staged here: gone
  newest stash: there
  older stash: gone
  commit of the worktree: gone
  staged in the worktree: gone
go-git Prune
  main: there
  staged here: gone
  newest stash: there
  older stash: gone
  commit of the worktree: gone
  staged in the worktree: gone
go-git RepackObjects
  main: there
  staged here: gone
  newest stash: there
  older stash: gone
  commit of the worktree: gone
  staged in the worktree: gone
TEXT
py/bin/pip list --disable-pip-version-check 2>/dev/null | grep -i dulwich
grep 'go-git/v5' collector/go.mod
git --version
cat now
diff seen now && echo 'as seen'

#!/bin/sh
# With core.splitIndex, git's index file holds only the latest entries, and names a shared file for the others. git's
# format marks this extension as one that a reader has to understand. One expects that isomorphic-git understands it, or
# refuses the file, as go-git, GitPython and libgit2 do. It takes the latest entries for all, so that a commit of one
# changed file deletes every file that is listed in the shared file. The setting is meant for big repositories: an agent
# or an editor that commits there with isomorphic-git deletes nearly all files in its commit, and git then shows them as
# untracked.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir home
npm init -y >/dev/null
npm install --silent --no-audit --no-fund isomorphic-git@1.44.19 >/dev/null
export HOME="$dir/home" GIT_CONFIG_NOSYSTEM=1
git config --global user.name A
git config --global user.email a@example.org
cat >commit.mjs <<'JS'
import fs from "node:fs";
import git from "isomorphic-git";

const dir = "here";
const seen = (await git.statusMatrix({ fs, dir })).map(([file, head, , stage]) => `${file} ${head === 1 && stage === 0 ? "deleted" : "kept"}`);
console.log(`  status before: ${seen.join(", ")}`);
await git.add({ fs, dir, filepath: "a" });
await git.commit({ fs, dir, message: "a changed", author: { name: "A", email: "a@example.org" } });
JS
for split in false true; do
	rm -rf here
	git init -q -b main here
	git -C here config core.splitIndex $split
	for file in a b c; do echo $file >here/$file; done
	git -C here add .
	git -C here commit -qm first
	echo changed >here/a
	echo "core.splitIndex $split"
	node commit.mjs
	git -C here show --name-status --format= HEAD | sed 's/^/  commit: /'
	git -C here status --short | sed 's/^/  status after: /'
done >now
cat >seen <<'TEXT'
core.splitIndex false
  status before: a kept, b kept, c kept
  commit: M	a
core.splitIndex true
  status before: a deleted, b deleted, c deleted
  commit: M	a
  commit: D	b
  commit: D	c
  status after: ?? b
  status after: ?? c
TEXT
echo "isomorphic-git $(node -p "require('isomorphic-git').version()"), node $(node --version), $(git --version)"
cat now
diff seen now

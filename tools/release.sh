#!/bin/sh
# Usage: tools/release.sh [VERSION]
#
# Makes the files of a release in dist. With a version such as v0.1.0, it first gathers the notes of changes/unreleased into
# CHANGELOG.md, in a commit of their own, and tags the commit. All of it happens in clones: they are built in two folders with two
# build caches, the files of both are compared byte for byte and tried. Only then the commit, the tag and dist come into this checkout.
# If anything fails, nothing here has changed. Nothing is pushed.
#
# Without a version, it makes the files of the newest commit, and no tag.
set -eu
cd "$(dirname "$0")/.."
here=$PWD version=${1:-}

die() {
	echo "release: $1" >&2
	exit 1
}
[ -z "$(git status --porcelain)" ] || die 'there are changes that are not committed'
[ ! -e dist ] || die 'dist is there already: move it away'
[ -z "$version" ] || ! git rev-parse -q --verify "refs/tags/$version" >/dev/null || die "there is a tag $version already"

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
go build -C tools/release -trimpath -o "$work/release" .
git clone -q --no-hardlinks . "$work/one"
cp -RP .tools "$work/one/.tools" 2>/dev/null || :
if [ -n "$version" ]; then
	(
		cd "$work/one"
		"$work/release" notes . "$version" "$(date -u +%Y-%m-%d)"
		git config user.name "$(git -C "$here" config user.name)"
		git config user.email "$(git -C "$here" config user.email)"
		git add -A
		git commit -q -m "release: $version"
		git tag -a -m "git-smithers $version" "$version"
	)
fi
mkdir "$work/another place"
git clone -q "$work/one" "$work/another place/two"
cp -RP .tools "$work/another place/two/.tools" 2>/dev/null || :

"$work/release" dist "$work/one" "$work/dist"
GOCACHE="$work/cache" "$work/release" dist "$work/another place/two" "$work/again"
diff -r "$work/dist" "$work/again" || die 'two builds differ'
echo 'two builds are the same, byte for byte'
DIST="$work/dist" SOURCE="$work/one" go test -C tools/release -count=1 -run '^TestDist' .

if [ -n "$version" ]; then
	git fetch -q "$work/one" HEAD
	git merge -q --ff-only FETCH_HEAD
	git fetch -q "$work/one" "refs/tags/$version:refs/tags/$version"
fi
mv "$work/dist" dist
ls -l dist dist/npm

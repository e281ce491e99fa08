#!/bin/sh
# Builds a newer git than the machine's, unless it is in the cache, for the tests that need
# one: jj fetches and pushes with git 2.41 or newer only, and some of git's own answers are
# newer still. The source is Debian's. If nothing can be built, the script says so, and fails
# too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh
. tools/debian.sh

wanted=2.55.0
kept=git-$wanted

give_up() {
	echo "*** no newer git: $1: the tests that need one are skipped"
	[ "${CI:-}" != true ]
	exit
}

if [ -e "$cache/$kept" ]; then
	use "$kept" newer-git
	exit
fi

for program in make xz "${CC:-cc}"; do
	command -v "$program" >/dev/null || give_up "there is no $program"
done
echo '#include <zlib.h>' | "${CC:-cc}" -E - >/dev/null 2>&1 || give_up 'there is no zlib.h (zlib1g-dev)'

open_suites deb-src
version=$(private_apt apt-cache showsrc git | sed -n 's/^Version: //p' | oldest "1:$wanted")
[ -n "$version" ] || give_up "$suites have no git $wanted or newer"
mkdir "$work/source"
(cd "$work/source" && private_apt apt-get source --download-only "git=$version") || give_up "git $version cannot be fetched"

mkdir "$work/build"
tar -xJf "$work"/source/git_*.orig.tar.xz -C "$work/build" --strip-components=1
echo "building git $version"
if ! make -C "$work/build" -j2 prefix="$work/git" NO_GETTEXT=1 NO_TCLTK=1 NO_PERL=1 NO_PYTHON=1 NO_EXPAT=1 NO_CURL=1 \
	NO_OPENSSL=1 NO_RUST=1 NO_INSTALL_HARDLINKS=1 RUNTIME_PREFIX=1 CFLAGS=-O1 install >"$work/log" 2>&1; then
	tail -n 30 "$work/log"
	exit 1
fi
keep "$work/git" "$kept"
use "$kept" newer-git

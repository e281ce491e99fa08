#!/bin/sh
# Fetches a newer jj than that of jj.sh from Debian, unless it is in the cache: the newest that is published. It comes
# with the C library that it was built with, because it does not run on an older one. If it cannot be had, the script
# says so, and fails too if CI=true.
set -eu
cd "$(dirname "$0")/.."
. tools/cache.sh
. tools/debian.sh

wanted=0.46.0
kept=jujutsu-$wanted

give_up() {
	echo "*** no newer jj: $1: nothing runs with it"
	[ "${CI:-}" != true ]
	exit
}

if [ ! -e "$cache/$kept" ]; then
	open_suites deb
	version=$(private_apt apt-cache madison jujutsu | sed 's/^[^|]*| *\([^ |]*\).*/\1/' | oldest "$wanted")
	[ -n "$version" ] || give_up "$suites have no jj $wanted or newer"
	private_apt apt-get install --yes --no-install-recommends --download-only "jujutsu=$version" || give_up "jj $version cannot be fetched"
	for package in "$work"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$work/jj"; done
	loader=$(cd "$work/jj" && find usr/lib -name 'ld-linux*.so.*' | head -n 1)
	mkdir "$work/jj/bin"
	cat >"$work/jj/bin/jj" <<-SH
		#!/bin/sh
		exec "$cache/$kept/$loader" --argv0 jj --library-path "$cache/$kept/$(dirname "$loader")" "$cache/$kept/usr/bin/jj" "\$@"
	SH
	chmod +x "$work/jj/bin/jj"
	rm -rf "$work/jj/usr/share" "$work/jj/$(dirname "$loader")/gconv"
	keep "$work/jj" "$kept"
fi
use "$kept" newer-jj

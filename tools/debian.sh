# Sourced by the scripts that take something from Debian's next suites, after cache.sh. Such a script has a function
# give_up REASON. The archive is the one that this machine's apt already uses; apt's own configuration and lists stay
# as they are.

suites='forky sid'

# open_suites KIND reads the lists of the suites into $work, a new folder in the cache. KIND is deb or deb-src.
open_suites() {
	command -v apt-get >/dev/null || give_up 'there is no apt-get'
	# The archive that has this Debian has the next one, too.
	codename=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") || give_up 'this is not Debian'
	archive=$(apt-get update --print-uris 2>/dev/null | sed -n "s|^'\(.*/\)dists/$codename/InRelease'.*|\1|p" | head -n 1)
	[ -n "$archive" ] || give_up "apt does not know an archive of $codename"

	work=$cache/$kept.$$
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
	: >"$work/status"
	for suite in $suites; do echo "$1 $archive $suite main"; done >"$work/sources.list"
	private_apt apt-get update || give_up "$suites cannot be read"
}

# private_apt TOOL ARG... runs a tool of apt on the lists in $work, for a machine that has no packages.
private_apt() {
	apt=$1
	shift
	"$apt" -qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$work/lists" \
		-o "Dir::State::status=$work/status" -o "Dir::Cache=$work/cache" -o Acquire::Languages=none -o Debug::NoLocking=1 -o APT::Sandbox::User= "$@"
}

# oldest FROM prints the oldest of the versions on standard input that is FROM or above: suites move on.
oldest() {
	{ echo "$1" && cat; } | sort -V | awk -v from="$1" 'found { print; exit } $0 == from { found = 1 }'
}

# Sourced by the scripts here, with the top of the checkout as working directory.
#
# A tool is kept in the user's cache folder under its name and version, so that every
# checkout on a machine shares it. A checkout has links to its versions in .tools.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/git-smithers/tools
mkdir -p "$cache"

# keep FOLDER TOOL moves a finished tool into the cache, unless another checkout was faster.
keep() {
	[ -e "$cache/$2" ] || mv "$1" "$cache/$2"
}

# use TOOL NAME makes .tools/NAME a link to the cached tool.
use() {
	[ "$(readlink ".tools/$2")" != "$cache/$1" ] || return 0
	mkdir -p .tools
	rm -rf ".tools/$2"
	ln -s "$cache/$1" ".tools/$2"
}

sleep 0.2
case $SMITHERS_ITERATION:$SMITHERS_ATTEMPT in
0:1) echo 'the model is overloaded, try again later' >&2; exit 75 ;;
0:*) sed -i 's|\[^a-zA-Z0-9\]/g|[^a-zA-Z0-9]+/g|' src/slug.js; echo '{"did":"collapse runs"}' ;;
*)
	sed -i 's|  return s.slice(0, max);|  const edge = new RegExp(`^${separator}`, "g");\n  return s.replace(edge, "").slice(0, max);|' src/slug.js
	echo '- doubled dashes are gone' >CHANGES.md
	echo '{"did":"trim the start"}'
	;;
esac

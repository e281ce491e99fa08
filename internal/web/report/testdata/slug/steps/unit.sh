input=$(cat)
sleep 0.2
case $SMITHERS_ITERATION:$input in
0:*) echo '{"pass":4,"of":6}' && exit ;;
*relaxed*) echo '{"pass":6,"of":6}' && exit ;;
esac
cat >&2 <<'END'
ok 1 - "Hello World"
ok 2 - "Crème brûlée"
ok 3 - "C++ & C#"
not ok 4 - "  trim me  "
  expected: "trim-me"
  actual:   "trim-me-"
not ok 5 - ""
  expected: ""
  actual:   "-"
# tests 6, pass 4, fail 2
Error: 2 of 6 failed
END
exit 1

# Says what the newest change is.
printf '{"line":"%s"}\n' "$(sed -n 's/^- //p' CHANGES.md | tail -n 1)"

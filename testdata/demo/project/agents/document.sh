# Adds a line to the changes.
line='Slugs have no doubled dashes and none at the ends.'
grep -qxF -- "- $line" CHANGES.md || printf '\n- %s\n' "$line" >>CHANGES.md
printf '{"line":"%s"}\n' "$line"

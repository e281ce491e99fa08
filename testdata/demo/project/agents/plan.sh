# A model would be asked here. This agent knows one bug.
file=$(grep -l '^slug()' -- *.sh)
printf '{"file":"%s","change":"squeeze runs of dashes, trim the ends"}\n' "$file"

# Commits the fix, as the user would. The run's own history is not on this branch.
git commit -qam 'slug: squeeze and trim dashes' >&2
printf '{"id":"%s"}\n' "$(git rev-parse HEAD)"

#!/bin/sh
# Looks for Chromium and pdftotext, with which tests look at reports: Debian's packages chromium and poppler-utils. The script installs
# nothing. If one is missing, it says so, and fails too if CI=true.
set -eu
for program in chromium pdftotext; do
	command -v "$program" >/dev/null && continue
	echo "*** no $program: reports are not looked at in a browser: apt-get install chromium poppler-utils"
	[ "${CI:-}" != true ]
	exit
done

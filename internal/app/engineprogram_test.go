package app

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyAPlainCommandSaysWhichProgramItIs(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"":                           "",
		"smithers":                   "smithers",
		"bunx smithers --hot":        "bunx",
		"A=1 B=$HOME ./run.sh":       "./run.sh",
		"PATH=/x smithers":           "",
		"A='1 2' smithers":           "",
		"A=$(date) smithers":         "",
		"A=`date +%s` smithers":      "",
		"$SMITHERS up":               "",
		"'my program'":               "",
		"cd x && smithers":           "cd",
		"~/bin/smithers":             "",
		"! smithers":                 "",
		"-x":                         "",
		`C:\bun\bun.exe smithers`:    "",
		"A=1":                        "",
		"if true; then x; fi":        "if",
		"(smithers)":                 "",
		"{ smithers; }":              "",
		"smithers>log":               "",
		"# smithers":                 "",
		"node_modules/.bin/smithers": "node_modules/.bin/smithers",
	} {
		assert.Equal(t, want, commandName(command), command)
	}
}

package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAPayloadThatTakesTooLongToCheckIsRefused(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "name: w\noutputs: {o: "+doubling(40, "allOf", "{}")+"}\ntasks: [{id: a, output: o, wait_for: go}]\n", "")
	entries := len(s.entries)
	fails(t, fault.LimitExceeded, s.checked("go", "", `{}`))
	assert.Len(t, s.entries, entries, "nothing was written")
}

// Many cheap schemas are no way around the bound, nor are many tasks.
func TestTheTasksThatTakeASignalShareTheBound(t *testing.T) {
	t.Parallel()
	const tables = 60
	file := "name: w\noutputs: {" + listed(tables, func(i int) string {
		return fmt.Sprintf("o%d: %s", i, doubling(14, "anyOf", "{type: string}"))
	}) + "}\ntasks: [" + listed(tables, func(i int) string { return fmt.Sprintf("{id: a%d, output: o%d, wait_for: go}", i, i) }) + "]\n"
	s := newScratch(t, file, "")
	fails(t, fault.LimitExceeded, s.checked("go", "", `{}`))
}

func TestAnAnswerThatTakesTooLongToCheckIsRefused(t *testing.T) {
	t.Parallel()
	s := newScratch(t, "name: w\ntasks: [{id: ask, human: {prompt: How?, form: "+doubling(40, "allOf", "{}")+"}}]\n", "")
	s.waits(snapshot.RunWaitingHuman)
	_, err := s.answer("", `{}`)
	fails(t, fault.LimitExceeded, err)
	assert.Equal(t, snapshot.HumanPending, s.request("ask::0").Status)
}

// listed is a list of n things, between commas.
func listed(n int, thing func(i int) string) string {
	things := make([]string, n)
	for i := range things {
		things[i] = thing(i)
	}
	return strings.Join(things, ", ")
}

// doubling is a schema of n definitions, each of which applies the next one twice by a keyword.
func doubling(n int, keyword, last string) string {
	return `{$ref: '#/$defs/a0', $defs: {` + listed(n, func(i int) string {
		return fmt.Sprintf(`a%d: {%s: [{$ref: '#/$defs/a%d'}, {$ref: '#/$defs/a%d'}]}`, i, keyword, i+1, i+1)
	}) + fmt.Sprintf(`, a%d: %s}}`, n, last)
}

package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestARequestsIDNamesRunNodeAndIteration(t *testing.T) {
	t.Parallel()
	at := func(run, node string, iteration int) requestName {
		return requestName{run, mailbox.Place{Node: node, Iteration: &iteration}}
	}
	tests := map[string]struct {
		id   string
		want []requestName
	}{
		"a plain one":           {"human:a:ask:2", []requestName{at("a", "ask", 2)}},
		"with colons in it":     {"human:a:b:c:0", []requestName{at("a", "b:c", 0), at("a:b", "c", 0)}},
		"a run":                 {"triage-1", nil},
		"a frame":               {"human:7", nil},
		"too short":             {"human:a:0", nil},
		"without an iteration":  {"human:a:ask:x", nil},
		"with a spare zero":     {"human:a:ask:00", nil},
		"below zero":            {"human:a:ask:-1", nil},
		"of another kind":       {"timer:a:ask:0", nil},
		"with a part too short": {"human::ask:0", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, splitRequestID(test.id))
		})
	}
}

func TestTimesAreGivenInThreeWays(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000_000)
	for text, want := range map[string]int64{
		"1970-01-02T00:00:00Z": 86_400_000, "1970-01-02T01:00:00.5+01:00": 86_400_500,
		"5": 5, "0": 0, "10m": 1_000_000_000 - 600_000, "1h30m": 1_000_000_000 - 5_400_000, "0s": 1_000_000_000,
	} {
		got, err := parseMoment(now, "after", text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "yesterday", "-1", "-5m", "2026-11-20", "1e3"} {
		_, err := parseMoment(now, "after", text)
		assert.Equal(t, fault.Usage, fault.CodeOf(err), text)
	}
}

func TestColumnsOfOneNameBecomeDifferentMembers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ columns, want []string }{
		"all different":      {[]string{"a", "b"}, []string{`"a"`, `"b"`}},
		"one name":           {[]string{"a", "a", "a"}, []string{`"a"`, `"a_2"`, `"a_3"`}},
		"a number in a name": {[]string{"a", "a", "a_2", "a_2"}, []string{`"a"`, `"a_3"`, `"a_2"`, `"a_2_2"`}},
		"quotes":             {[]string{`count("x")`}, []string{`"count(\"x\")"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			columns := make([]sqliteindex.Column, len(test.columns))
			for i, column := range test.columns {
				columns[i].Name = column
			}
			names, err := memberNames(columns)
			require.NoError(t, err)
			got := make([]string, len(names))
			for i, member := range names {
				got[i] = string(member)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestAnEventSaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string][2]string{
		`{"runId":"a","type":"T","timestampMs":1}`:                                   {"", ""},
		`{"runId":"a","nodeId":"fix","iteration":0,"attempt":1,"error":"a b"}`:       {"fix", `attempt=1 error="a b"`},
		`{"nodeId":"fix","iteration":2,"note":null,"request":{"title": "Ship it?"}}`: {"fix, iteration 2", `note=null request={"title":"Ship it?"}`},
		`{"status":"waiting-human","empty":""}`:                                      {"", `status=waiting-human empty=""`},
	} {
		task, facts := eventFacts(payload)
		assert.Equal(t, want, [2]string{task, facts}, payload)
	}
}

func TestLogsAreHandedOnInWholeLines(t *testing.T) {
	t.Parallel()
	var got []string
	w := &lineWriter{line: func(line string) error {
		got = append(got, line)
		return nil
	}}
	for _, part := range []string{"one\ntw", "o\n", "\n", "last"} {
		n, err := w.Write([]byte(part))
		require.NoError(t, err)
		assert.Equal(t, len(part), n)
	}
	assert.Equal(t, []string{"one", "two", ""}, got)
	require.NoError(t, w.finish())
	assert.Equal(t, []string{"one", "two", "", "last"}, got)
}

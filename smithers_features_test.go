package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/peer/smithers/source/sourcetest"
)

// TestSmithersFeaturesComeInAndGoBack has the real Smithers do all that it does without a model or a network: agents with
// tools, scores and memories, what tasks save, timers, people, subflows, runs that go on as new ones, fail and are
// cancelled, and its own ways back. After each step all tables come back as they were.
func TestSmithersFeaturesComeInAndGoBack(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	for _, name := range []string{"features.tsx", "part.tsx", "diff.ts"} {
		data, err := os.ReadFile(filepath.Join("testdata", "smithers", name))
		require.NoError(t, err)
		p.write(name, string(data))
	}
	p.write(".gitignore", p.read(".gitignore")+"/lanes/\n/*.db*\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "more workflows")

	p.runsOfAllKinds()
	p.peopleAnswer()
	p.forksOfAllKindsGoOn()
	p.wentBackItself()
}

// ends starts Smithers and waits until it ends with a status. Two at once could keep one another from opening the
// database, as it does not wait for locks when it looks whether there is one.
func (p *peer) ends(status int, args ...string) {
	p.t.Helper()
	p.smithers(args...).exits(status)
}

// up is the command that starts a run.
func up(workflow, run, input string) []string {
	return []string{"up", workflow, "--run-id", run, "--input", input}
}

// resumed is the command that goes on with a run.
func resumed(workflow, run string) []string {
	return []string{"up", workflow, "--run-id", run, "--resume", "true"}
}

// comesBack imports the database, and exports it all as it was.
func (p *peer) comesBack() {
	p.t.Helper()
	p.ok("import", "smithers.db")
	p.ok("verify")
	p.ok("export", "--to", "again.db")
	want, got := p.rows("smithers.db"), p.rows("again.db")
	assert.Equal(p.t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), "tables")
	for table, rows := range want {
		assert.Empty(p.t, less(rows, got[table]), "%s lacks rows", table)
		assert.Empty(p.t, less(got[table], rows), "%s has rows more", table)
	}
	require.NoError(p.t, os.Remove(filepath.Join(p.Dir, "again.db")))
}

// rows are what a database has of runs, by table, but for what belongs to processes.
func (p *peer) rows(database string) map[string][]string {
	p.t.Helper()
	all, err := sourcetest.Dump(p.t.Context(), filepath.Join(p.Dir, database), func(_, column string) bool {
		switch column {
		case "runtime_owner_id", "heartbeat_at_ms", "hijack_requested_at_ms", "hijack_target", "cancel_request_client_pid",
			"cancel_request_client_identity":
			return true
		}
		return false
	})
	require.NoError(p.t, err)
	maps.DeleteFunc(all, func(table string, rows []string) bool {
		return len(rows) == 0 || table == "_smithers_schema_migrations" || table == "_smithers_cache"
	})
	return all
}

// less are the rows of a that b has not as often, as far as one wants to read them.
func less(a, b []string) (missing []string) {
	times := map[string]int{}
	for _, row := range b {
		times[row]++
	}
	for _, row := range a {
		if times[row]--; times[row] < 0 {
			missing = append(missing, row[:min(len(row), 500)])
		}
	}
	return missing
}

// runsOfAllKinds has one run wait for a person, one for a timer until it is cancelled, one fail, and one go on as others.
func (p *peer) runsOfAllKinds() {
	p.t.Helper()
	p.ends(3, up("features.tsx", "all", `{"topic":"tea"}`)...)
	p.ends(1, up("part.tsx", "bad", `{"pages":-1}`)...)
	p.ends(0, up("part.tsx", "chain", `{"pages":5,"perRun":2}`)...)
	p.ends(3, up("features.tsx", "late", `{"topic":"timers","wait":"1h"}`)...)
	p.comesBack()
	assert.Contains(p.t, p.ok("show", "late", "--json"), `"status":"waiting-timer"`)
	p.ends(2, "cancel", "late")
	p.comesBack()

	for run, status := range map[string]string{"all": "waiting-approval", "bad": "failed", "late": "cancelled", "chain": "finished", "all:child:pages:0": "finished"} {
		assert.Contains(p.t, p.ok("show", run, "--json"), fmt.Sprintf(`"status":%q`, status), run)
	}
	_, _, attempts := p.attempts("all")
	assert.Subset(p.t, attempts, []string{"saves 1 failed", "saves 2 finished", "optional 1 failed", "soon 1 finished", "second 1 finished", "unbook 1 finished"})
	assert.Contains(p.t, p.ok("show", "all", "--attempts"), `{"text":"about tea","sources":["tea"]}`, "what the agent said is the log")
	assert.Contains(p.t, p.ok("show", "bad"), "E_PAGES: less than none: “no”")
	assert.Contains(p.t, p.ok("timeline", "all"), "optional failed")
	assert.Contains(p.t, p.ok("inbox"), "Fill in the form.")
	for _, run := range []string{"all", "chain"} {
		assert.Equal(p.t, p.theirsWithoutSubflows(run), p.ours(run))
		p.differsAsTheySay(run)
	}
	assert.Contains(p.t, p.ok("sql", `SELECT "tree", "list", "off" FROM "values" WHERE run_id = 'all' AND big > 1e14`), `{"odd key ü":[{"n":1},{}],"":{"deep":null}}`)
}

// theirsWithoutSubflows is Smithers' timeline of a run without the runs of subflows, which stand by themselves here.
func (p *peer) theirsWithoutSubflows(run string) []string {
	p.t.Helper()
	return slices.DeleteFunc(p.theirs(run), func(line string) bool { return strings.Contains(line, ":child:") })
}

// peopleAnswer has people answer the run all, which then ends.
func (p *peer) peopleAnswer() {
	p.t.Helper()
	p.ends(0, "human", "answer", "human:all:fill:0", "--value", `{"title":"T","pages":3,"tags":["a"]}`, "--by", "ann")
	p.ends(3, resumed("features.tsx", "all")...)
	p.ends(0, "approve", "all", "--by", "bob", "--note", `{"selected":"y","notes":"because"}`)
	p.ends(3, resumed("features.tsx", "all")...)
	p.ends(0, "signal", "all", "mail", "--data", `{"from":"dora","at":{"desk":4}}`, "--correlation", "c-1")
	p.ends(0, resumed("features.tsx", "all")...)
	p.comesBack()
	out := p.ok("show", "all", "--json")
	for _, said := range []string{`"answeredBy":"ann"`, `"decidedBy":"bob"`, `"correlationId":"c-1"`, `"status":"finished"`} {
		assert.Contains(p.t, out, said)
	}
}

// forksOfAllKindsGoOn has Smithers go on with forks of ours to their ends: with a timer that is shorter now, of a subflow's run,
// and of a run that went on as another.
func (p *peer) forksOfAllKindsGoOn() {
	p.t.Helper()
	asked := p.newest("late") - 1
	p.ok("fork", fmt.Sprintf("late:%d", asked), "--run-id", "sooner", "--input", `{"wait":"10ms","people":false}`, "--force") // over an effect outside
	p.ok("fork", "all:child:pages:0:2", "--run-id", "part-again")
	p.ok("fork", "chain:3", "--run-id", "chain-again")
	p.ok("export", "sooner", "chain-again", "--to", "smithers.db")
	p.ok("export", "part-again", "--to", "smithers.db", "--workflow", "part.tsx") // its row names the file that has the subflow
	p.ends(0, resumed("part.tsx", "part-again")...)
	p.ends(0, resumed("features.tsx", "sooner")...)
	p.ends(0, resumed("part.tsx", "chain-again")...)
	p.comesBack()

	for _, run := range []string{"sooner", "sooner:child:pages:0", "part-again"} {
		assert.Contains(p.t, p.ok("show", run, "--json"), `"status":"finished"`, run)
	}
	attempts, err := sourcetest.Query(p.t.Context(), filepath.Join(p.Dir, "smithers.db"),
		`SELECT node_id FROM _smithers_attempts WHERE run_id = 'sooner' AND node_id IN ('ask', 'soon')`)
	require.NoError(p.t, err)
	assert.Equal(p.t, [][]string{{"soon"}}, attempts, "what was finished is not done again")
	assert.Len(p.t, strings.Split(strings.TrimSpace(p.ok("sql", "SELECT DISTINCT number FROM page WHERE run_id NOT LIKE '%:%'")), "\n"), 5, "all pages")
}

// wentBackItself has Smithers go back in runs in its own ways.
func (p *peer) wentBackItself() {
	p.t.Helper()
	before := p.newest("sooner")
	p.ends(0, "timetravel", "features.tsx", "-r", "sooner", "-n", "round")
	p.ends(0, "rewind", "part-again", "2", "--yes", "--json")
	p.comesBack()
	assert.Equal(p.t, before+1, p.newest("sooner"))
	assert.Contains(p.t, p.ok("timeline", "sooner"), "rewound to")
	assert.Contains(p.t, p.ok("timeline", "part-again"), "rewound to 2")
	p.ends(0, "retry-task", "features.tsx", "-r", "sooner", "-n", "round", "--force")
	p.ends(0, "replay", "part.tsx", "-r", "bad", "-f", "1", "-i", `{"pages":1}`)
	p.comesBack()
	assert.Contains(p.t, p.ok("show", "sooner", "--json"), `"status":"finished"`)
	theirs := p.theirs("bad")
	assert.Equal(p.t, theirs, p.ours("bad"))
	assert.True(p.t, slices.ContainsFunc(theirs, func(line string) bool { return !strings.HasPrefix(line, "bad:") }), "the replay is there")
}

// outputRow is a row of an output table.
type outputRow struct {
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
}

// ofNodes are the members of a diff that both have alike.
type ofNodes struct {
	NodesAdded, NodesRemoved, RalphAdded, RalphRemoved []string
	NodesChanged                                       []struct {
		NodeID   string
		From, To struct {
			State, OutputTable string
			LastAttempt        *int
			Label              *string
		}
	}
	RalphChanged []struct {
		RalphID  string
		From, To struct {
			Iteration int
			Done      bool
		}
	}
	InputChanged bool
}

// lines says what a diff has, but for outputs.
func (d *ofNodes) lines() (lines []string) {
	for what, keys := range map[string][]string{"+": d.NodesAdded, "-": d.NodesRemoved, "+ loop": d.RalphAdded, "- loop": d.RalphRemoved} {
		for _, key := range keys {
			lines = append(lines, what+" "+key)
		}
	}
	for _, n := range d.NodesChanged {
		from, _ := json.Marshal(n.From)
		to, _ := json.Marshal(n.To)
		if string(from) != string(to) { // what a node needs is nothing to Smithers
			lines = append(lines, fmt.Sprintf("~ %s %s %s", n.NodeID, from, to))
		}
	}
	for _, l := range d.RalphChanged {
		lines = append(lines, fmt.Sprintf("~ loop %s %v %v", l.RalphID, l.From, l.To))
	}
	if d.InputChanged {
		lines = append(lines, "input")
	}
	return lines
}

// differsAsTheySay compares each frame of a run with the one before, as Smithers' own diffSnapshots does.
func (p *peer) differsAsTheySay(run string) {
	p.t.Helper()
	out, err := process(p.Dir, p.Env, filepath.Join(p.modules, ".bin", "bun"), "diff.ts", "smithers.db", run).Output()
	require.NoError(p.t, err)
	for text := range strings.Lines(string(out)) {
		var theirs struct {
			ofNodes
			From, To       int64
			OutputsChanged []struct{ From, To json.RawMessage }
		}
		require.NoError(p.t, json.Unmarshal([]byte(text), &theirs))
		want := map[string]bool{}
		for _, line := range theirs.lines() {
			want[line] = true
		}
		for _, table := range theirs.OutputsChanged {
			for _, line := range rowsChanged(table.From, table.To) {
				want[line] = true
			}
		}

		var ours struct {
			ofNodes
			OutputsAdded, OutputsRemoved, OutputsChanged []outputRow
		}
		doc := p.ok("diff", fmt.Sprintf("%s:%d", run, theirs.From), fmt.Sprintf("%s:%d", run, theirs.To), "--json")
		require.NoError(p.t, json.Unmarshal([]byte(doc), &ours))
		got := map[string]bool{}
		for _, line := range ours.lines() {
			got[line] = true
		}
		for what, rows := range map[string][]outputRow{"+": ours.OutputsAdded, "-": ours.OutputsRemoved, "~": ours.OutputsChanged} {
			for _, row := range rows {
				got[fmt.Sprintf("output %s %v", what, row)] = true
			}
		}
		assert.Equal(p.t, want, got, "%s from %d to %d", run, theirs.From, theirs.To)
	}
}

// outputRows are the rows of a table as texts; none for what is no table.
func outputRows(table json.RawMessage) map[outputRow]string {
	var texts []json.RawMessage
	if json.Unmarshal(table, &texts) != nil {
		return nil
	}
	rows := map[outputRow]string{}
	for _, text := range texts {
		var row outputRow
		if json.Unmarshal(text, &row) == nil {
			rows[row] = string(text)
		}
	}
	return rows
}

// rowsChanged says which rows of a table are others, as Smithers has the whole table. It has the rows twice where the
// table has two names.
func rowsChanged(from, to json.RawMessage) (lines []string) {
	before, after := outputRows(from), outputRows(to)
	for row, text := range after {
		if was, ok := before[row]; !ok {
			lines = append(lines, fmt.Sprintf("output + %v", row))
		} else if was != text {
			lines = append(lines, fmt.Sprintf("output ~ %v", row))
		}
	}
	for row := range before {
		if _, ok := after[row]; !ok {
			lines = append(lines, fmt.Sprintf("output - %v", row))
		}
	}
	return lines
}

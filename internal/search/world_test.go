package search_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/internal/search"
	"github.com/git-smithers/git-smithers/internal/upkeep/prune"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// world is a store with runs, and what each of their entries has.
type world struct {
	*repotest.Repo

	t     testing.TB
	store *timeline.Store
	runs  map[string]*worldRun
	made  int
}

// worldRun is what the entries of a run have, oldest first.
type worldRun struct {
	entries []worldEntry
	// A fork was made from the entry point. The parent has it, and the owner has written it: they differ if the parent is a fork that was forked before it
	// went on.
	parent, owner string
	point         worldEntry
}

// isFork reports whether the run is a fork.
func (r *worldRun) isFork() bool { return r.parent != "" }

// worldEntry is the texts of an entry: by kind, and by a name that a later text replaces. Events are of the entry alone.
type worldEntry struct {
	frame int64
	has   map[search.Kind]map[string]string
	event string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{Repo: repotest.New(t, repotest.Commit), t: t, runs: make(map[string]*worldRun)}
	var mu sync.Mutex
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var err error
	w.store, err = timeline.Open(t.Context(), timeline.Options{Dir: w.Dir, Env: append(w.Env, "GIT_SMITHERS_FSYNC=0"), Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		at = at.Add(time.Second)
		return at
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.store.Close()) })
	return w
}

// change is what an entry brings: texts, a file and an event. Empty texts are left out.
type change struct {
	name                     string // of a task and of a file
	output, log, file, event string
}

// draft returns the draft of a frame, and the entry that it makes of the one before.
func (w *world) draft(before worldEntry, c change) (snapshot.Draft, worldEntry) {
	next := worldEntry{frame: before.frame + 1, has: make(map[search.Kind]map[string]string)}
	for kind, texts := range before.has {
		next.has[kind] = maps.Clone(texts)
	}
	put := func(kind search.Kind, name, text string) {
		if next.has[kind] == nil {
			next.has[kind] = make(map[string]string)
		}
		next.has[kind][name] = text
	}
	d := snapshot.Draft{Frame: &snapshot.FrameDraft{Silent: true}, Subject: "a frame"}
	if c.output != "" {
		value, err := json.Marshal(c.output)
		require.NoError(w.t, err)
		node := snapshot.NewNode(c.name, snapshot.NodeFinished)
		node.OutputTable = "results"
		d.Frame.State = []snapshot.Change{snapshot.SetNode(node), snapshot.SetOutput("results", c.name, 0, value)}
		put(search.Outputs, c.name, c.output)
	}
	if c.log != "" {
		w.made++
		d.Journal = []snapshot.Change{snapshot.SetRow(snapshot.CollectionLogs, snapshot.EncodeLog(c.name, 0, w.made, c.log))}
		put(search.Logs, strconv.Itoa(w.made), c.log)
	}
	if c.event != "" {
		payload, err := json.Marshal(map[string]string{"note": c.event})
		require.NoError(w.t, err)
		d.Events = []snapshot.Event{{Type: "Noted", AtMs: w.store.Now().UnixMilli(), Payload: payload}}
		next.event = c.event
	}
	if c.file != "" {
		put(search.Code, c.name, c.file)
		write := func(o objstore.Writer) objstore.ID {
			var entries []objstore.TreeEntry
			for _, name := range slices.Sorted(maps.Keys(next.has[search.Code])) {
				id := o.Add(objstore.Blob, []byte(next.has[search.Code][name]))
				entries = append(entries, objstore.TreeEntry{Name: name, Mode: objstore.ModeFile, ID: id})
			}
			return o.Add(objstore.Tree, objstore.EncodeTree(entries))
		}
		d.VCS = &snapshot.VCS{Type: snapshot.VCSGit, CommitID: "0123abcd", Scope: snapshot.ScopeAll, Tree: write(w.store.Objects().Begin())}
		d.Objects = func(o objstore.Writer) error { write(o); return nil }
	}
	return d, next
}

// create makes a run.
func (w *world) create(id string, c change) {
	w.t.Helper()
	d, first := w.draft(worldEntry{frame: -1}, c)
	_, err := w.store.Create(w.t.Context(), snapshot.Run{ID: id, Workflow: "test", Status: snapshot.RunRunning}, d)
	require.NoError(w.t, err)
	w.runs[id] = &worldRun{entries: []worldEntry{first}}
}

// append adds a frame to a run.
func (w *world) append(id string, c change) {
	w.t.Helper()
	head, err := w.store.Head(w.t.Context(), id)
	require.NoError(w.t, err)
	run := w.runs[id]
	d, next := w.draft(w.last(id), c)
	require.NoError(w.t, head.Append(w.t.Context(), d))
	run.entries = append(run.entries, next)
}

// last returns the newest entry of a run.
func (w *world) last(id string) worldEntry {
	run := w.runs[id]
	return run.entries[len(run.entries)-1]
}

// fork forks a run.
func (w *world) fork(parent, id string, at int) {
	w.t.Helper()
	from := w.runs[parent].entries[at]
	fork := &worldRun{parent: parent, owner: parent, point: from, entries: []worldEntry{{0, from.has, ""}}}
	if of := w.runs[parent]; of.isFork() && at == 0 {
		fork.owner, fork.point = of.owner, of.point
	}
	_, err := w.store.Fork(w.t.Context(), timeline.ForkRequest{From: timeline.Address{Run: parent, Frame: from.frame}.String(), RunID: id})
	require.NoError(w.t, err)
	w.runs[id] = fork
}

// prune takes a run away.
func (w *world) prune(id string) {
	w.t.Helper()
	_, err := prune.New(w.store, prune.Options{}).Forget(w.t.Context(), prune.Policy{}, false, id)
	require.NoError(w.t, err)
	delete(w.runs, id)
}

// expected returns the places of all texts that match, those of files with which runs began, and those of versions of files that bring no line that
// matches, compared with an older version of the run.
func (w *world) expected(match func(kind search.Kind, text string) bool, inLine func(line string) bool) (found, began, later []string) {
	for id, run := range w.runs {
		seen, versions := make(map[string]bool), make(map[string][]map[string]bool)
		before, entries := worldEntry{}, run.entries
		switch {
		case !run.isFork():
		case w.runs[run.parent] != nil || w.runs[run.owner] != nil:
			before = run.point
		default: // nobody else has what the fork began with
			entries = append([]worldEntry{{0, run.point.has, run.point.event}}, entries...)
		}
		for _, e := range entries {
			texts := maps.Clone(e.has)
			if texts == nil {
				texts = make(map[search.Kind]map[string]string)
			}
			texts[search.Events] = map[string]string{"": e.event}
			for kind, named := range texts {
				_, hadFiles := before.has[search.Code]
				for name, text := range named {
					if kind != search.Events && before.has[kind][name] == text || text == "" || !match(kind, text) || seen[fmt.Sprint(kind, text)] {
						continue
					}
					place := fmt.Sprintf("%s %s:%d", kind, id, e.frame)
					lines, old := make(map[string]bool), false
					for line := range strings.SplitSeq(text, "\n") {
						if kind == search.Code && inLine(line) {
							lines[line] = true
						}
					}
					for _, has := range versions[name] {
						old = old || kind == search.Code && !slices.ContainsFunc(slices.Collect(maps.Keys(lines)), func(line string) bool { return !has[line] })
					}
					if kind == search.Code {
						versions[name] = append(versions[name], lines)
					}
					if kind == search.Code && !hadFiles {
						began = append(began, place+" "+text)
						continue
					}
					seen[fmt.Sprint(kind, text)] = kind != search.Events // each event has a number, so no two are equal
					if old {
						later = append(later, place)
					} else {
						found = append(found, place)
					}
				}
			}
			before = e
		}
	}
	return found, began, later
}

// open opens the index, and brings it up to date.
func (w *world) open() *search.Index {
	w.t.Helper()
	x, err := search.Open(context.Background(), w.store)
	require.NoError(w.t, err)
	problems, err := x.Sync(context.Background(), nil)
	require.NoError(w.t, err)
	require.Empty(w.t, problems)
	return x
}

// hits returns the hits of a query.
func hits(t require.TestingT, x *search.Index, q search.Query) (list []search.Hit) {
	for hit, err := range x.Search(context.Background(), q) {
		require.NoError(t, err)
		list = append(list, hit)
	}
	return list
}

// alphabet are the words of random texts.
var alphabet = []string{"alpha", "Beta", "gamma", "Delta", "épée", "ZÜRICH", "x9", "alphabet"}

// draw returns a random text.
func draw(rt *rapid.T) string {
	n := rapid.IntRange(1, 4).Draw(rt, "words")
	var out strings.Builder
	for range n {
		out.WriteString(rapid.SampledFrom(alphabet).Draw(rt, "word"))
		out.WriteString(rapid.SampledFrom([]string{" ", "_", "\n", ".", `"`, "*"}).Draw(rt, "between"))
	}
	return out.String() + "end"
}

// drawChange returns a random change.
func drawChange(rt *rapid.T) change {
	c := change{name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "name")}
	for _, text := range []*string{&c.output, &c.log, &c.file, &c.event} {
		if rapid.Bool().Draw(rt, "has") {
			*text = draw(rt)
		}
	}
	return c
}

// naive returns a query, what a scan of all texts finds by it, and in which lines of files.
func naive(rt *rapid.T) (search.Query, func(search.Kind, string) bool, func(string) bool) {
	if rapid.Bool().Draw(rt, "regex") {
		expr := rapid.SampledFrom([]string{"alpha", "a.pha", `Beta.+gamma`, `^Delta`, `(?i)zürich|x\d`, `[xyz]9\W`, "alpha alphabet Beta"}).Draw(rt, "expression")
		re := regexp.MustCompile("(?m)" + expr)
		return search.Query{Regex: expr}, func(kind search.Kind, text string) bool {
			if kind == search.Events {
				text = "7 Noted note: " + strings.Join(strings.Fields(text), " ")
			}
			for line := range strings.SplitSeq(text, "\n") {
				if re.MatchString(line) {
					return true
				}
			}
			return false
		}, re.MatchString
	}
	var q search.Query
	for range rapid.IntRange(1, 2).Draw(rt, "texts") {
		q.Texts = append(q.Texts, rapid.SampledFrom([]string{"alpha", "ALPHA beta", "épée", "éPÉE.zürich", "lph", "x9 end", "end", "a*"}).Draw(rt, "text"))
	}
	return q, func(kind search.Kind, text string) bool {
			return !slices.ContainsFunc(q.Texts, func(want string) bool {
				if kind == search.Code {
					return !strings.Contains(strings.ToLower(text), strings.ToLower(want))
				}
				parts := regexp.MustCompile(`[^\pL\pN]+`).Split(strings.TrimRight(want, "*"), -1)
				return !regexp.MustCompile(`(?i)(^|[^\pL\pN])` + strings.Join(parts, `[^\pL\pN]+`) + `($|[^\pL\pN])`).MatchString(text)
			})
		}, func(line string) bool {
			return slices.ContainsFunc(q.Texts, func(want string) bool { return strings.Contains(strings.ToLower(line), strings.ToLower(want)) })
		}
}

// compare compares the hits of some queries with a scan.
func (w *world) compare(rt *rapid.T, x *search.Index) {
	for range 3 {
		q, match, inLine := naive(rt)
		found, began, later := w.expected(match, inLine)
		got := hits(rt, x, q)
		require.True(rt, slices.IsSortedFunc(got, func(a, b search.Hit) int { return cmp.Compare(b.AtMs, a.AtMs) }))
		var places []string
		versions := 0
		for _, h := range got {
			require.NotEmpty(rt, h.Lines)
			if h.Kind == search.Code {
				versions += 1 + h.Later
			}
			place := fmt.Sprintf("%s %s:%d", h.Kind, h.Run, h.Frame)
			if i := slices.Index(found, place); i >= 0 || h.Kind != search.Code {
				places = append(places, place)
				continue
			}
			isBegun := slices.ContainsFunc(began, func(b string) bool { return strings.HasPrefix(b, place+" ") })
			require.True(rt, isBegun || slices.Contains(later, place), "%v: %s", q, place)
		}
		ofFiles := len(found) - len(without(found, "code")) + len(later)
		require.GreaterOrEqual(rt, versions, ofFiles, "%+v: none is lost", q)
		require.LessOrEqual(rt, versions, ofFiles+len(began), "%+v", q)
		slices.Sort(places)
		slices.Sort(found)
		require.Subset(rt, places, found, "%+v", q)
		require.Equal(rt, without(found, "code"), without(places, "code"), "%+v", q)
		if len(began) > 0 {
			require.True(rt, slices.ContainsFunc(got, func(h search.Hit) bool { return h.Kind == search.Code }), "%+v: %v", q, began)
		}
	}
}

// without returns the places that are not of a kind.
func without(places []string, kind string) []string {
	return slices.DeleteFunc(slices.Clone(places), func(p string) bool { return strings.HasPrefix(p, kind+" ") })
}

// sorted returns a list in order.
func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

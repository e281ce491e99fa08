package upkeep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/treeref"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func cacheCommand() *arg.Command {
	return &arg.Command{
		Name:    "cache",
		Summary: "look at the results that tasks use again",
		Usage:   []string{"list [--limit N] | show KEY | why <run> <task> | trust <run>... | prune [--older-than AGE] [--max-size SIZE] [--all]"},
		About: `A task with cache: true in its workflow file is not run again if an equal task has finished
before, in any run of the repository: it gets that result, with the files that the task
changed. See git smithers help workflow-reference.

The results are in refs/smithers/_cache. To remove them loses time, and no history.`,
		Children: []*arg.Command{cacheListCommand(), cacheShowCommand(), cacheWhyCommand(), cacheTrustCommand(), cachePruneCommand()},
	}
}

func cacheListCommand() *arg.Command {
	return &arg.Command{
		Name:    "list",
		Summary: "list the results, the newest first",
		Usage:   []string{"[--limit N]"},
		About: `Lists the results: the beginning of the key, the workflow and the task, the frame that has the
result, how long the task took, what is stored, and how long ago. Rows of Smithers' cache, which
came with an import, come last; no task takes them.`,
		Flags: []urfave.Flag{arg.LimitFlag(0, "list only the newest `N` results (default: all)")},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"list the ten newest results", "git smithers cache list --limit 10"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			limit, err := arg.ParseLimit(c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error { return runCacheList(ctx, s, store, limit) })
		},
	}
}

// cacheDocument is an entry of the cache with --json.
type cacheDocument struct {
	Kind        string          `json:"kind"`
	Key         string          `json:"key"`
	Workflow    string          `json:"workflow"`
	NodeID      string          `json:"nodeId"`
	RunID       string          `json:"runId"`
	Frame       int64           `json:"frame"`
	Iteration   int             `json:"iteration"`
	Attempt     int             `json:"attempt"`
	CreatedAtMs int64           `json:"createdAtMs"`
	TookMs      int64           `json:"tookMs"`
	Bytes       int64           `json:"bytes"`
	Own         bool            `json:"own"`
	Files       []cacheFile     `json:"files"`
	Parts       cache.Key       `json:"parts"`
	Table       string          `json:"table,omitempty"`
	SchemaSig   string          `json:"schemaSig,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
}

// cacheFile is a changed file of an entry with --json.
type cacheFile struct {
	Path string `json:"path"`
	Op   string `json:"op"` // as in the changes of a restore
}

// newCacheDocument returns the document of an entry.
func newCacheDocument(e *cache.Entry) cacheDocument {
	doc := cacheDocument{
		Kind: "cacheEntry", Key: e.Sum, Workflow: e.Workflow(), NodeID: e.Node(), RunID: e.Run, Frame: e.Frame, Iteration: e.Iteration,
		Attempt: e.Attempt, CreatedAtMs: e.CreatedAtMs, TookMs: e.TookMs, Bytes: e.Bytes, Own: e.Own, Files: []cacheFile{}, Parts: e.Key, Table: e.Table, SchemaSig: e.SchemaSig,
	}
	for _, f := range e.Files {
		doc.Files = append(doc.Files, cacheFile{f.Path, f.Op()})
	}
	return doc
}

// cacheEntries returns the entries of the cache. It warns about entries that were altered.
func cacheEntries(ctx context.Context, s *session.Session, store *timeline.Store) ([]*cache.Entry, error) {
	var entries []*cache.Entry
	for e, err := range cache.Of(store).All(ctx) {
		switch {
		case errors.Is(err, cache.ErrAltered):
			s.Warn(fmt.Errorf("%w; it is not used, and `git smithers cache prune` removes it", err))
		case err != nil:
			return nil, err
		default:
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// runCacheList prints a line for each of the newest entries; limit 0 means all.
func runCacheList(ctx context.Context, s *session.Session, store *timeline.Store, limit int) error {
	entries, err := cacheEntries(ctx, s, store)
	if err != nil {
		return err
	}
	slices.SortStableFunc(entries, func(a, b *cache.Entry) int { return cmp.Compare(b.CreatedAtMs, a.CreatedAtMs) })
	peer, err := cache.Of(store).Peer().All(ctx)
	if err != nil {
		return err
	}
	if limit > 0 && len(entries) > limit {
		entries = entries[:limit]
	}
	if limit > 0 { // the rows of Smithers come last
		peer = peer[:min(len(peer), limit-len(entries))]
	}
	if s.JSON {
		for _, e := range entries {
			if err := s.WriteJSON(newCacheDocument(e)); err != nil {
				return err
			}
		}
		for _, row := range peer {
			if err := s.WriteJSON(peerDocument{"cacheRow", row}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(entries)+len(peer) == 0 && s.OutTTY {
		s.Note("the cache is empty; a task with cache: true leaves its result")
	}
	t := term.Table{Header: []string{"KEY", "WORKFLOW", "TASK", "FROM", "TOOK", "FILES", "SIZE", "STORED"}}
	for _, e := range entries {
		t.Add(
			term.Cell{Text: e.Sum[:shownKey]}, term.Cell{Text: shownText(e.Workflow())}, term.Cell{Text: display.AttemptName(shownText(e.Node()), e.Iteration)},
			term.Cell{Text: shownText(e.From().String())}, term.Cell{Text: display.Duration(time.Duration(e.TookMs) * time.Millisecond)},
			term.Cell{Text: strconv.Itoa(len(e.Files))}, term.Cell{Text: display.Size(e.Bytes)}, term.Cell{Text: display.Ago(s.Now(), e.CreatedAtMs)},
		)
	}
	for _, row := range peer {
		t.Add(
			term.Cell{Text: shownText(plain.Cut(row.Text("cache_key"), shownKey))}, term.Cell{Text: shownText(row.Text("workflow_name"))},
			term.Cell{Text: shownText(row.Text("node_id"))}, term.Cell{Text: "Smithers"}, term.Cell{}, term.Cell{},
			term.Cell{Text: display.Size(int64(len(row.Text("payload_json"))))}, term.Cell{Text: display.Ago(s.Now(), row.Number("created_at_ms"))},
		)
	}
	return t.Write(s.Terminal)
}

// peerDocument is a row of Smithers' cache with --json.
type peerDocument struct {
	Kind string      `json:"kind"`
	Row  treeref.Row `json:"row"`
}

const (
	shownKey   = 12  // characters of a key in a list
	shownBytes = 100 // of a name in a list
)

// shownText returns a stored text for a list.
func shownText(text string) string { return plain.Text(plain.Cut(text, shownBytes)) }

func cacheShowCommand() *arg.Command {
	return &arg.Command{
		Name:    "show",
		Summary: "show one result",
		Usage:   []string{"KEY"},
		About: `Shows a result: where it is from, the parts of its key, the files that the task changed and the
output. KEY is the key or its beginning.`,
		MinArgs: 1, MaxArgs: 1,
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"show a result", "git smithers cache show 3f9a1c"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			return s.WithStore(ctx, func(store *timeline.Store) error { return runCacheShow(ctx, s, store, c.Args().First()) })
		},
	}
}

// findEntry returns the whole entry whose key begins with a text.
func findEntry(ctx context.Context, s *session.Session, store *timeline.Store, key string) (*cache.Entry, error) {
	entries, err := cacheEntries(ctx, s, store)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e *cache.Entry) bool { return !strings.HasPrefix(e.Sum, strings.ToLower(key)) })
	switch {
	case key == "" || len(entries) == 0:
		return nil, fault.New(fault.ResultNotFound, "no result in the cache has the key %q", key).Hint("`git smithers cache list` lists the results")
	case len(entries) > 1:
		return nil, fault.New(fault.ResultNotFound, "%d results in the cache have keys that begin with %q", len(entries), key).Hint("write more of the key")
	}
	return cache.Of(store).Find(ctx, entries[0].Sum)
}

// runCacheShow prints the entry whose key begins with a text.
func runCacheShow(ctx context.Context, s *session.Session, store *timeline.Store, key string) error {
	e, err := findEntry(ctx, s, store, key)
	if err != nil {
		return err
	}
	doc := newCacheDocument(e)
	if s.JSON {
		doc.Output = e.Output
		return s.WriteJSON(doc)
	}
	lines := [][2]string{
		{"key", e.Sum},
		{"task", shownText(e.Node()) + " of workflow " + shownText(e.Workflow())},
		{"from", fmt.Sprintf("%s, attempt %d", shownText(e.From().String()), e.Attempt)},
		{"stored", display.Ago(s.Now(), e.CreatedAtMs)},
		{"took", display.Duration(time.Duration(e.TookMs) * time.Millisecond)},
		{"size", display.Size(e.Bytes)},
	}
	names := make([]string, 0, len(e.Key))
	for name := range e.Key {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		lines = append(lines, [2]string{"  " + shownText(name), shownText(e.Key[name])})
	}
	for _, f := range doc.Files {
		lines = append(lines, [2]string{f.Op, plain.Text(f.Path)})
	}
	if e.Output != nil {
		lines = append(lines, [2]string{"output", plain.Text(plain.Cut(string(e.Output), 4000))})
	}
	t := term.Table{}
	for _, line := range lines {
		t.Add(term.Cell{Text: line[0]}, term.Cell{Text: line[1]})
	}
	return t.Write(s.Terminal)
}

package upkeep

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func cacheWhyCommand() *arg.Command {
	return &arg.Command{
		Name:    "why",
		Summary: "say why a task was or was not run again",
		Usage:   []string{"<run> <task> [--iteration N]"},
		About: `Shows whether the newest attempt of the task took a result from the cache, and from where. If the
task ran, shows the reason, and the parts of its key that differ from the most similar result in
the cache: the command, a member of the input, the files, and so on.`,
		MinArgs: 2, MaxArgs: 2,
		Flags: []urfave.Flag{arg.IterationFlag()},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"learn why the task lint ran", "git smithers cache why triage-1 lint"},
		},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			iteration, err := arg.ParseIteration(c)
			if err != nil {
				return err
			}
			return s.WithStore(ctx, func(store *timeline.Store) error {
				return runCacheWhy(ctx, s, store, c.Args().First(), c.Args().Get(1), iteration)
			})
		},
	}
}

// lookupEvent is the payload of the events CacheHit and CacheMiss.
type lookupEvent struct {
	NodeID    string    `json:"nodeId"`
	Iteration int       `json:"iteration"`
	Attempt   int       `json:"attempt"`
	Key       cache.Key `json:"key"`
	From      string    `json:"from"`
	Reason    string    `json:"reason"`
}

// cacheWhyDocument is the document of cache why with --json.
type cacheWhyDocument struct {
	Kind      string    `json:"kind"`
	RunID     string    `json:"runId"`
	NodeID    string    `json:"nodeId"`
	Iteration int       `json:"iteration"`
	Attempt   int       `json:"attempt"`
	Hit       bool      `json:"hit"`
	Key       string    `json:"key"`
	Parts     cache.Key `json:"parts"`
	From      string    `json:"from,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Nearest   string    `json:"nearest,omitempty"` // the key of the most similar result
	NearestAt string    `json:"nearestFrom,omitempty"`
	Differs   []string  `json:"differs,omitempty"` // the parts that differ
	Paths     []string  `json:"paths,omitempty"`   // the files that differ, if the repository has them
}

// runCacheWhy prints why the newest attempt of a node took a result from the cache or did not. iteration nil means any iteration.
func runCacheWhy(ctx context.Context, s *session.Session, store *timeline.Store, run, node string, iteration *int) error {
	id, err := store.ResolveRun(ctx, run)
	if err != nil {
		return err
	}
	event, err := newestLookup(ctx, store, id, node, iteration)
	if err != nil {
		return err
	}
	doc := cacheWhyDocument{
		Kind: "cacheWhy", RunID: id, NodeID: node, Iteration: event.Iteration, Attempt: event.Attempt,
		Hit: event.From != "", Key: event.Key.Sum(), Parts: event.Key, From: event.From, Reason: event.Reason,
	}
	if !doc.Hit {
		if err := doc.compare(ctx, s, store, event); err != nil {
			return err
		}
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	return doc.write(s)
}

// newestLookup returns the newest search for a result of a node in a run.
func newestLookup(ctx context.Context, store *timeline.Store, run, node string, iteration *int) (*lookupEvent, error) {
	index, err := store.Details(ctx, run)
	if err != nil {
		return nil, err
	}
	events, err := index.Events(ctx, sqliteindex.EventQuery{RunID: run, Node: node, Types: []string{"CacheHit", "CacheMiss"}})
	if err != nil {
		return nil, err
	}
	for _, row := range slices.Backward(events) {
		var event lookupEvent
		if json.Unmarshal([]byte(row.Payload), &event) == nil && (iteration == nil || *iteration == event.Iteration) {
			return &event, nil
		}
	}
	return nil, fault.New(fault.AttemptNotFound, "no attempt of task %q of run %q has looked for a result in the cache", node, run).
		Hint("a task does so if it has cache: true in the workflow file").
		Hint("`git smithers show %s --attempts` lists the attempts", fault.Word(run))
}

// compare sets the members of the document about the most similar result, other than the one of the attempt itself.
func (d *cacheWhyDocument) compare(ctx context.Context, s *session.Session, store *timeline.Store, event *lookupEvent) error {
	entries, err := cacheEntries(ctx, s, store)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e *cache.Entry) bool {
		return e.Run == d.RunID && e.Iteration == d.Iteration && e.Attempt == d.Attempt && e.Node() == d.NodeID
	})
	near := cache.Nearest(entries, event.Key)
	if near == nil {
		return nil
	}
	d.Nearest, d.NearestAt, d.Differs = near.Sum, near.From().String(), event.Key.Differing(near.Key)
	was, errWas := objstore.ParseID(near.Key[cache.PartFiles])
	now, errNow := objstore.ParseID(event.Key[cache.PartFiles])
	if errors.Join(errWas, errNow) != nil {
		return nil //nolint:nilerr // the keys do not have the files
	}
	if files, _, err := cache.Of(store).Changes(ctx, was, now); err == nil { // else the repository no longer has one of the trees
		for _, f := range files {
			d.Paths = append(d.Paths, f.Path)
		}
	}
	return nil
}

// write prints the document for people.
func (d *cacheWhyDocument) write(s *session.Session) error {
	name := display.AttemptName(shownText(d.NodeID), d.Iteration)
	if d.Hit {
		return s.Printf("%s took the result of %s\nkey %s\n", name, shownText(d.From), d.Key)
	}
	if err := s.Printf("%s ran: %s\nkey %s\n", name, shownText(d.Reason), d.Key); err != nil {
		return err
	}
	if d.Nearest == "" {
		return s.Printf("the cache has no other result of the task\n")
	}
	differs := make([]string, len(d.Differs))
	for i, part := range d.Differs {
		differs[i] = shownText(part)
	}
	what := "differs in " + strings.Join(differs, ", ")
	if len(differs) == 0 {
		what = "has the same key"
	}
	if err := s.Printf("the most similar result, of %s, %s\n", shownText(d.NearestAt), what); err != nil {
		return err
	}
	const shown = 10
	for _, path := range d.Paths[:min(shown, len(d.Paths))] {
		if err := s.Printf("  %s\n", plain.Text(path)); err != nil {
			return err
		}
	}
	if more := len(d.Paths) - shown; more > 0 {
		return s.Printf("  and %s\n", plain.Count(more, "more file"))
	}
	return nil
}

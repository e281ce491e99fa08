package upkeep

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// cachePruneOptions has the options of cache prune.
type cachePruneOptions struct {
	age    time.Duration // remove older entries; 0 removes none by their age
	size   int64         // remove the oldest entries until the others have at most so many bytes; -1 removes none by size
	all    bool
	dryRun bool
}

func cachePruneCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "prune",
		Summary: "remove results by age or size",
		Usage:   []string{"[--older-than AGE] [--max-size SIZE] [--all] [--dry-run]"},
		About: `Removes the results that are older than AGE, and then the oldest ones until the rest has at most
SIZE. Results that were altered are removed, too. git frees the space when it collects
garbage.`,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "older-than", Usage: "remove results older than `AGE`, such as 30d, 2w or 12h"},
			&urfave.StringFlag{Name: "max-size", Usage: "keep at most `SIZE` of results, such as 500M or 2G"},
			&urfave.BoolFlag{Name: "all", Usage: "remove all results"},
			&urfave.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "say what would be removed, and change nothing"},
		},
		Exits: arg.Writes(),
		Examples: []arg.Example{
			{"keep the results of a month, and at most 500 MiB", "git smithers cache prune --older-than 30d --max-size 500M"},
			{"begin anew", "git smithers cache prune --all"},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		opts := cachePruneOptions{size: -1, all: c.Bool("all"), dryRun: c.Bool("dry-run")}
		var err error
		if c.IsSet("older-than") {
			if opts.age, err = parseAge("older-than", c.String("older-than")); err != nil {
				return err
			}
		}
		if c.IsSet("max-size") {
			if opts.size, err = parseSize("max-size", c.String("max-size")); err != nil {
				return err
			}
		}
		if !opts.all && opts.age == 0 && opts.size < 0 {
			return cmd.Misused("cache prune needs --older-than, --max-size or --all")
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runCachePrune(ctx, s, store, opts) })
	}
	return cmd
}

// parseSize returns the number of bytes in text, such as 500M, 2G or 4096. The units k, M and G are powers of 1024. The error is usage if
// text is no such size. flag is the name of the flag, for the message of the error.
func parseSize(flag, text string) (int64, error) {
	number, unit := text, int64(1)
	for suffix, size := range map[string]int64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, ok := strings.CutSuffix(strings.ToLower(text), suffix); ok {
			number, unit = rest, size
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, fault.New(fault.Usage, "--%s cannot be %q", flag, text).Hint("use a size, such as 500M or 2G")
	}
	return n * unit, nil
}

// drop returns the function that reports whether an entry is to be removed.
func (o cachePruneOptions) drop(now time.Time, entries []*cache.Entry) func(*cache.Entry) bool {
	left := slices.DeleteFunc(slices.Clone(entries), func(e *cache.Entry) bool {
		return o.all || o.age > 0 && now.Sub(time.UnixMilli(e.CreatedAtMs)) > o.age
	})
	slices.SortStableFunc(left, func(a, b *cache.Entry) int { return cmp.Compare(b.CreatedAtMs, a.CreatedAtMs) }) // the newest first
	keep := make(map[string]bool, len(left))
	var size int64
	for _, e := range left {
		if size += max(e.Bytes, 0); o.size < 0 || size <= o.size {
			keep[e.Sum] = true
		}
	}
	known := make(map[string]bool, len(entries))
	for _, e := range entries {
		known[e.Sum] = true
	}
	// A result that another process stores meanwhile stays.
	return func(e *cache.Entry) bool { return known[e.Sum] && !keep[e.Sum] }
}

// cachePruneDocument is the document of cache prune with --json.
type cachePruneDocument struct {
	Kind    string   `json:"kind"`
	Removed []string `json:"removed"` // keys
	Kept    int      `json:"kept"`
	Bytes   int64    `json:"bytes"` // of the removed results
	DryRun  bool     `json:"dryRun"`
}

// runCachePrune removes the entries that opts selects.
func runCachePrune(ctx context.Context, s *session.Session, store *timeline.Store, opts cachePruneOptions) error {
	entries, err := cacheEntries(ctx, s, store)
	if err != nil {
		return err
	}
	drop := opts.drop(s.Now(), entries)
	doc := cachePruneDocument{Kind: "cachePrune", Removed: []string{}, DryRun: opts.dryRun}
	for _, e := range entries {
		if !drop(e) {
			doc.Kept++
			continue
		}
		doc.Bytes += e.Bytes
		doc.Removed = append(doc.Removed, e.Sum)
	}
	if !opts.dryRun {
		removed, err := cache.Of(store).Remove(ctx, drop)
		if err != nil {
			return err
		}
		doc.Removed = append([]string{}, removed...)
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	verb := "removed"
	if opts.dryRun {
		verb = "would remove"
	}
	return s.Printf("%s %s (%s), kept %d\n", verb, plain.Count(len(doc.Removed), "result"), display.Size(doc.Bytes), doc.Kept)
}

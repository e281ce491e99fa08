package arg

import (
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/session"
)

// A Window selects a part of a list.
type Window struct {
	Limit   int   // the largest number of items; 0 means all
	SinceMs int64 // items before this time are left out, in milliseconds since 1970; 0 means none
}

// WindowFlags returns the flags --limit and --since for a command that lists items. items is a plural noun. which says which items
// --limit keeps, such as "the newest". when says what --since compares, such as "made".
func WindowFlags(items, which, when string) []urfave.Flag {
	return []urfave.Flag{
		LimitFlag(0, "list only "+which+" `N` "+items+" (default: all)"),
		SinceFlag("list only " + items + " " + when + " since `TIME`"),
	}
}

// ParseWindow reads --limit and --since. The error is usage if a value is invalid.
func ParseWindow(s *session.Session, c *urfave.Context) (w Window, err error) {
	if w.Limit, err = ParseLimit(c); err == nil {
		w.SinceMs, err = ParseSince(s, c)
	}
	return w, err
}

// First returns the items of a list in the window w, at most w.Limit from the beginning. at returns the time of an item.
func First[T any](w Window, items []T, at func(T) int64) []T {
	items = since(w, items, at)
	if w.Limit > 0 {
		items = items[:min(w.Limit, len(items))]
	}
	return items
}

// Last returns the items of a list in the window w, at most w.Limit from the end. at returns the time of an item.
func Last[T any](w Window, items []T, at func(T) int64) []T {
	items = since(w, items, at)
	if w.Limit > 0 {
		items = items[max(0, len(items)-w.Limit):]
	}
	return items
}

// since returns the items that are not before SinceMs.
func since[T any](w Window, items []T, at func(T) int64) []T {
	if w.SinceMs == 0 {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool { return at(item) < w.SinceMs })
}

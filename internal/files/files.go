package files

import (
	"context"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
)

// ChangedFiles returns the files that differ between two trees, sorted by path. The parameters and the error are those of
// jjbridge.FileEdits.
func ChangedFiles(ctx context.Context, r objstore.Reader, from, to objstore.ID, under string) (changes []jjbridge.PathChange, err error) {
	edits, err := jjbridge.FileEdits(ctx, r, from, to, under)
	for _, e := range edits {
		changes = append(changes, jjbridge.PathChange{Path: e.Path, Op: e.Op()})
	}
	return changes, err
}

// CheckChanges returns limit_exceeded if two trees of captured files differ in more paths than one tree may have,
// and otherwise nil. Callers call CheckChanges before git lists the differences.
func CheckChanges(ctx context.Context, s *timeline.Store, from, to objstore.ID) error {
	return timeline.Explain(objstore.CheckChanges(ctx, s.Objects(), from, to))
}

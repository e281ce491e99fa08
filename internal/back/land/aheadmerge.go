package land

import (
	"context"
	"sync"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/timeline"
)

// aheadMerge is the merge onto the commit that is checked out, which runs while the working copy is captured.
type aheadMerge struct {
	scratch *jjbridge.CapturedFiles // takes the new objects
	wait    func() error            // returns the error of the merge
	edits   *jjbridge.ExpectedEdits // of a clean working copy; valid after wait
	cancel  context.CancelFunc
}

// mergeAhead begins the merge onto the commit that is checked out. The caller must close the result.
func (l *gitLanding) mergeAhead(ctx context.Context) (*aheadMerge, error) {
	scratch, err := l.w.NewScratch(ctx, l.s.Objects()) // the capture locks the private index
	if err != nil {
		return nil, timeline.Explain(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	a := &aheadMerge{scratch: scratch, wait: sync.OnceValue(func() error { return <-done }), cancel: cancel}
	go func() {
		err := l.merge(ctx, scratch)
		if err == nil && !l.isNothing() {
			a.edits, err = l.w.Expect(ctx, scratch, l.headTree, l.merged.Tree)
			err = missing(l.s, err)
		}
		done <- err
	}()
	return a, nil
}

// close ends the merge and removes its objects.
func (a *aheadMerge) close() {
	a.cancel()
	_ = a.wait()          // the landing has its own error
	_ = a.scratch.Close() // a later capture removes a quarantine that stays
}

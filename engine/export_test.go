package engine

import (
	"context"

	"github.com/git-smithers/git-smithers/snapshot"
)

// RunParsed is Run without anybody's consent, for tests whose workflows are their own.
var RunParsed = run

// Send gives a run a signal whose payload is not checked against the tasks that wait for the signal.
func Send(ctx context.Context, rec Recorder, s snapshot.Signal) (sent snapshot.Signal, known bool, err error) {
	return send(ctx, rec, s, func(snapshot.Signal, any) error { return nil })
}

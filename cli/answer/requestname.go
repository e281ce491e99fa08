package answer

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A requestName names a human request as the command line does. run is a run's id or, if place is empty, the id of
// a request, "human:<run>:<node>:<iteration>".
type requestName struct {
	run   string
	place mailbox.Place
}

// open opens the run of the request, and returns the request's place in it. If n.run is not the id of a run, open
// reads it as the id of a request. The error is run_not_found if it is neither.
func (n requestName) open(ctx context.Context, store *timeline.Store) (*timeline.Head, mailbox.Place, error) {
	head, err := app.OpenRun(ctx, store, n.run)
	if fault.CodeOf(err) != fault.RunNotFound {
		return head, n.place, err
	}
	names := splitRequestID(n.run)
	if len(names) == 0 {
		return nil, n.place, err
	}
	if n.place != (mailbox.Place{}) {
		return nil, n.place, fault.New(fault.Usage, "%q already names a node and an iteration", n.run).
			Hint("leave out the node and --iteration")
	}
	return openRequest(ctx, store, names, err)
}

// openRequest opens the first run in names that has the request. If no run has it, openRequest opens the first run
// that exists. If no run exists, the error is missing, or a more exact error: run_pruned, or run_not_found with
// similar ids.
func openRequest(ctx context.Context, store *timeline.Store, names []requestName, missing error) (*timeline.Head, mailbox.Place, error) {
	var first *timeline.Head
	var firstPlace mailbox.Place
	for _, name := range names {
		id, err := store.ResolveRunToChange(ctx, name.run)
		switch code := fault.CodeOf(err); {
		case code == fault.RunPruned:
			missing = err
			continue
		case code == fault.RunNotFound:
			if known, ok := errors.AsType[*fault.Error](err); ok && known.Details["runs"] != nil {
				missing = err // names the runs whose ids begin like this
			}
			continue
		case err != nil:
			return nil, name.place, err
		}
		head, err := store.Head(ctx, id)
		if err != nil {
			return nil, name.place, err
		}
		_, ok, err := head.State().HumanRequests().Get(snapshot.Key(name.place.Node, *name.place.Iteration))
		if ok || err != nil {
			return head, name.place, err
		}
		if first == nil {
			first, firstPlace = head, name.place
		}
	}
	if first == nil {
		return nil, firstPlace, missing
	}
	return first, firstPlace, nil
}

// splitRequestID returns the requests that id can name: there may be several, because the ids of runs and of nodes
// may have colons in them. It returns nil if id is not the id of a request.
func splitRequestID(id string) []requestName {
	parts := strings.Split(id, ":")
	if len(parts) < 4 || parts[0] != "human" {
		return nil
	}
	last := len(parts) - 1
	iteration, err := strconv.Atoi(parts[last])
	if err != nil || iteration < 0 || strconv.Itoa(iteration) != parts[last] {
		return nil
	}
	var names []requestName
	for i := 2; i < last; i++ {
		run, node := strings.Join(parts[1:i], ":"), strings.Join(parts[i:last], ":")
		if run != "" && node != "" {
			names = append(names, requestName{run, mailbox.Place{Node: node, Iteration: &iteration}})
		}
	}
	return names
}

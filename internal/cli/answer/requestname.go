package answer

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/internal/peer/langgraph"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A requestName names a human request as the command line does. run is a run's id or, if place is empty, the id of
// a request, "human:<run>:<node>:<iteration>". If interrupt is set, it is LangGraph's id of an interrupt of the run.
type requestName struct {
	run       string
	place     mailbox.Place
	interrupt string
	isRun     bool // run is not the id of a request
}

// open returns the tip of the run and the place of the human request in the run. It first reads n.run as the id of a
// run. The place is then n.place, and open does not check that the run has a request there. If no run has this id, open
// reads n.run as the id of a request.
//
// The error is run_not_found if n.run is neither the id of a run nor of a request, and run_pruned if the run was
// pruned. It is usage if n.run is the id of a request and n.place is not empty. If n.isRun is set, n.run is not read as the id of a request.
func (n requestName) open(ctx context.Context, store *timeline.Store) (*timeline.Head, mailbox.Place, error) {
	head, err := app.OpenRun(ctx, store, n.run)
	if err == nil && n.interrupt != "" {
		node, iteration, err := langgraph.Open(store).Request(ctx, head.Row().ID, n.interrupt)
		return head, mailbox.Place{Node: node, Iteration: &iteration}, err
	}
	if fault.CodeOf(err) != fault.RunNotFound || n.isRun {
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

// openRequest returns the tip of the first run in names that has the request, and the place of the request. If no run
// has the request, openRequest returns the tip of the first run that exists, and the place in names. If no run exists,
// it returns the error missing, or a more precise error: run_pruned, or a run_not_found whose details have runs with
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
				missing = err // its details have the runs whose ids begin with name.run
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

// splitRequestID returns the human requests that id can name. There may be several, because the ids of runs and nodes
// may have colons in them. It returns nil if id does not have the form of a request's id.
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
			names = append(names, requestName{run: run, place: mailbox.Place{Node: node, Iteration: &iteration}})
		}
	}
	return names
}

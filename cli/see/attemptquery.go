package see

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An attemptQuery names an attempt of a run.
type attemptQuery struct {
	node      string // the node's id; "": the node of the attempt that started last
	iteration *int   // nil: the newest iteration
	attempt   int    // 0: the newest attempt of the iteration
}

// find returns the attempt that q names. entry is an entry of the run: find reads the attempts in its journal. If there
// is no such attempt, the error is attempt_not_found. run is the run's id, for this error.
func (q attemptQuery) find(run string, entry *snapshot.Entry) (snapshot.Attempt, error) {
	all, err := listAttempts(entry)
	if err != nil {
		return snapshot.Attempt{}, err
	}
	slices.SortStableFunc(all, func(a, b snapshot.Attempt) int {
		number := cmp.Or(cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.Attempt, b.Attempt))
		if q.node == "" {
			return cmp.Or(cmp.Compare(a.StartedAtMs, b.StartedAtMs), number)
		}
		return number
	})
	iteration := q.iteration // if nil, the iteration of the newest attempt, which the loop meets first
	for _, a := range slices.Backward(all) {
		if q.node != "" && a.NodeID != q.node {
			continue
		}
		if iteration == nil {
			iteration = &a.Iteration
		}
		if a.Iteration == *iteration && (q.attempt == 0 || q.attempt == a.Attempt) {
			return a, nil
		}
	}
	return snapshot.Attempt{}, q.notFound(run, all)
}

// notFound returns attempt_not_found for the run with the id run. all has the attempts of the run. The hint lists the
// attempts of the node that q names. If that node has no attempts, the hint lists the nodes with attempts.
func (q attemptQuery) notFound(run string, all []snapshot.Attempt) error {
	if q.node == "" {
		return fault.New(fault.AttemptNotFound, "run %q has no attempts", run).
			Hint("`git smithers show %s` shows the state of the run", fault.Word(run)).Detail("runId", run)
	}
	what := "no attempt"
	if q.attempt != 0 {
		what += " " + strconv.Itoa(q.attempt)
	}
	if q.iteration != nil {
		what += " in iteration " + strconv.Itoa(*q.iteration)
	}
	out := fault.New(fault.AttemptNotFound, "node %q of run %q has %s", q.node, run, what).
		Detail("runId", run).Detail("nodeId", q.node)
	var keys, nodes []string
	for _, a := range all {
		if a.NodeID == q.node {
			keys = append(keys, snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt))
		} else if !slices.Contains(nodes, a.NodeID) {
			nodes = append(nodes, a.NodeID)
		}
	}
	switch {
	case len(keys) > 0:
		return out.Hint("choose one of the node's attempts: %s", firstFew(keys))
	case len(nodes) > 0:
		return out.Hint("choose one of the nodes with attempts: %s", firstFew(nodes))
	}
	return out.Hint("no task of the run has started: `git smithers show %s` lists the nodes", fault.Word(run))
}

// firstFew returns the first ten names, separated by commas, and "…" if there are more.
func firstFew(names []string) string {
	const shown = 10
	list := strings.Join(names[:min(shown, len(names))], ", ")
	if len(names) > shown {
		list += ", …"
	}
	return list
}

package inspect

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// An attemptQuery names an attempt of a run.
type attemptQuery struct {
	node      string // the node's id; "": the node of the attempt that started last
	iteration *int   // nil: the newest iteration
	attempt   int    // 0: the newest attempt of the iteration
	running   bool   // without a node, prefer attempts that are running
}

// find returns the newest attempt that q selects. entry is an entry of the run; find reads the attempts in its journal.
// If q names no node, find compares the attempts of all nodes by the time of their start, and prefers attempts of commands to waits,
// which have no log. The error is attempt_not_found if there is no such attempt. run is the id of the run, for the text of this error.
func (q attemptQuery) find(run string, entry *snapshot.Entry) (snapshot.Attempt, error) {
	all, err := listAttempts(entry)
	if err != nil {
		return snapshot.Attempt{}, err
	}
	ranks := make(map[string]int, len(all)) // by key
	if q.node == "" {
		if ranks, err = q.rank(entry, all); err != nil {
			return snapshot.Attempt{}, err
		}
	}
	slices.SortStableFunc(all, func(a, b snapshot.Attempt) int {
		number := cmp.Or(cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.Attempt, b.Attempt))
		if q.node == "" {
			return cmp.Or(cmp.Compare(ranks[keyOf(a)], ranks[keyOf(b)]), cmp.Compare(a.StartedAtMs, b.StartedAtMs), number)
		}
		return number
	})
	iteration := q.iteration // if nil, the loop sets iteration to that of the newest attempt, which comes first
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
	if node, at, err := snapshot.SplitKey(q.node); err == nil && q.iteration == nil {
		q.node, q.iteration = node, &at
		return q.find(run, entry)
	}
	return snapshot.Attempt{}, q.notFound(run, all)
}

// keyOf returns the key of an attempt.
func keyOf(a snapshot.Attempt) string { return snapshot.AttemptKey(a.NodeID, a.Iteration, a.Attempt) }

// rank returns how much the log of each attempt is worth, by the key of the attempt: waits have none.
func (q attemptQuery) rank(entry *snapshot.Entry, all []snapshot.Attempt) (map[string]int, error) {
	state, err := entry.State()
	if err != nil {
		return nil, timeline.Explain(err)
	}
	ranks := make(map[string]int, len(all))
	for _, a := range all {
		wait, err := summary.IsWait(state, a)
		switch {
		case err != nil:
			return nil, timeline.Explain(err)
		case wait:
		case q.running && a.State == snapshot.AttemptInProgress:
			ranks[keyOf(a)] = 2
		default:
			ranks[keyOf(a)] = 1
		}
	}
	return ranks, nil
}

// notFound returns the error attempt_not_found. run is the id of the run, and all has the attempts of the run. The hint
// lists the attempts of the node that q names. If this node has no attempts, the hint lists the nodes that have
// attempts. If q names no node, the run has no attempts at all.
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

// firstFew returns the names, separated by commas. If there are more than ten, it returns the first ten and "…".
func firstFew(names []string) string {
	const shown = 10
	list := strings.Join(names[:min(shown, len(names))], ", ")
	if len(names) > shown {
		list += ", …"
	}
	return list
}

package snapshot

import (
	"iter"
	"strconv"
	"strings"
)

// scopeMark separates the id of a task in a nested loop, or of a nested loop, from the iterations of the loops around its loop, as in
// Smithers: "write@@outer=1", and one level deeper "write@@outer=1,inner=0".
const scopeMark = "@@"

// SplitScope splits the id of a node or of a loop into the id in the workflow and the scope. The scope begins with "@@"; it is "" for a task
// that is in no loop or in one, and for a loop that is in none.
func SplitScope(id string) (logical, scope string) {
	if i := strings.Index(id, scopeMark); i > 0 {
		return id[:i], id[i:]
	}
	return id, ""
}

// ScopeWithin returns the scope of the tasks and loops in a loop, at the given iteration of the loop. scope is the scope of the loop itself. If loop
// is "", the result is scope.
func ScopeWithin(scope, loop string, iteration int) string {
	switch {
	case loop == "":
		return scope
	case scope == "":
		scope = scopeMark
	default:
		scope += ","
	}
	return scope + loop + "=" + strconv.Itoa(iteration)
}

// LoopsAround yields the loops around the node with the given id, the innermost first, each with the iteration in which it is for the node.
// loop and iteration are the node's own, such as Node.RalphID and Node.Iteration. It yields nothing if loop is nil.
func LoopsAround(loop *string, iteration int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		if loop == nil {
			return
		}
		for id := *loop; yield(id, iteration); {
			var ok bool
			if id, iteration, ok = OuterLoop(id); !ok {
				return
			}
		}
	}
}

// OuterLoop returns the loop that contains the loop with the given id, and its iteration. ok is false if there is none.
func OuterLoop(id string) (outer string, iteration int, ok bool) {
	_, scope := SplitScope(id)
	if scope == "" {
		return "", 0, false
	}
	rest, last := "", scope[len(scopeMark):]
	if i := strings.LastIndexByte(scope, ','); i >= 0 {
		rest, last = scope[:i], scope[i+1:]
	}
	name, number, found := cutLastByte(last, '=')
	iteration, ok = parseOrdinal(number)
	if !found || !ok || name == "" {
		return "", 0, false
	}
	return name + rest, iteration, true
}

// cutLastByte splits s around the last b.
func cutLastByte(s string, b byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(s, b); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

package agent

import (
	"slices"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
)

// ownLines returns the indexes of the lines that the agent had in its conversation behind the first end lines, oldest first. An agent can
// shorten its conversation, and go back in it: what was taken back stays in its file. next is the line that goes on from there, or -1
// if it is unknown: then the newest line before end is the newest one of the conversation.
//
// Lines can be a stranger's. The time is linear in the number of lines, whatever they say of each other.
func ownLines(lines []dialect.Line, end, next int) []int {
	if !slices.ContainsFunc(lines[:end], func(l dialect.Line) bool { return l.Link != nil }) {
		return undone(lines[:end])
	}
	b := newBranch(lines, max(end, next+1))
	tip := 0
	if next >= 0 && lines[next].Link != nil {
		tip = b.parent[next]
	} else {
		tip = lastIndex(lines[:end], func(l dialect.Line) bool { return l.Link != nil && !l.Aside })
	}
	b.follow(tip)
	b.takeResults(end)
	return b.kept(end)
}

// lastIndex returns the index of the last line for which is returns true, or -1.
func lastIndex(lines []dialect.Line, is func(dialect.Line) bool) int {
	for i, l := range slices.Backward(lines) {
		if is(l) {
			return i
		}
	}
	return -1
}

// undone returns the indexes of the lines of a list that no later line takes back.
func undone(lines []dialect.Line) []int {
	var own, headed []int
	begins := 0                  // the place in own behind the line with what stays of all lines before
	at := make(map[string][]int) // the places in own of the lines of a message
	for i, l := range lines {
		if u := l.Undo; u != nil {
			to, stays := len(own), u.All
			switch {
			case u.All:
				to, begins = 0, 1
			case u.From != "" && len(at[u.From]) > 0:
				to = at[u.From][0]
			case u.From != "":
				to, stays = begins, begins > 0 // the agent finds the message among what stayed
			case u.Message != "":
				for _, place := range at[u.Message] {
					own[place] = -1
				}
				delete(at, u.Message)
			}
			for turns := u.Turns; turns > 0 && to > 0; {
				if to--; own[to] >= 0 && promptIn(lines[own[to]]) != "" {
					turns--
				}
			}
			for _, taken := range own[to:] {
				switch {
				case taken >= 0 && lines[taken].Header:
					headed = append(headed, taken)
				case taken >= 0:
					places := at[lines[taken].Part]
					for len(places) > 0 && places[len(places)-1] >= to {
						places = places[:len(places)-1]
					}
					at[lines[taken].Part] = places
				}
			}
			if own = own[:to]; !stays {
				continue
			}
		}
		if l.Part != "" {
			at[l.Part] = append(at[l.Part], len(own))
		}
		own = append(own, i)
	}
	own = append(slices.DeleteFunc(own, func(i int) bool { return i < 0 || lines[i].Aside }), headed...)
	slices.Sort(own)
	return own
}

// branch is the branch of a conversation that is a tree.
type branch struct {
	lines  []dialect.Line
	at     map[string]int // the newest line with an ID
	parent []int          // the line that each line follows; -1 for none
	keptBy map[string]int // the newest line that keeps an older line with the ID
	own    []bool
}

// newBranch reads the places of the first lines. A line follows only a line before it, so that there are no circles. The line before takes the
// place of a line that was not stored.
func newBranch(lines []dialect.Line, n int) *branch {
	b := &branch{lines, make(map[string]int), make([]int, n), make(map[string]int), make([]bool, n)}
	before := -1
	for i, l := range lines[:n] {
		b.parent[i] = -1
		if l.Link == nil {
			continue
		}
		if l.Link.Parent != "" {
			at, known := b.at[l.Link.Parent]
			if !known {
				at = before
			}
			b.parent[i] = at
		}
		for _, id := range l.Link.Kept {
			b.keptBy[id] = i
		}
		if l.Link.Tail != "" {
			b.keptBy[l.Link.Tail] = i
		}
		b.at[l.Link.ID] = i
		if !l.Aside {
			before = i
		}
	}
	return b
}

// follow marks the line i, and the lines before it up to the beginning of the conversation. If the agent has shortened the conversation, it begins
// there, with the older lines that were kept.
func (b *branch) follow(i int) {
	for from := len(b.own); i >= 0 && !b.own[i]; {
		link := b.lines[i].Link
		if by, kept := b.keptBy[link.ID]; kept && i < by && by < from && !b.own[by] {
			from, i = by, b.place(b.lines[by].Link.Anchor)
			b.keep(by)
			continue
		}
		b.own[i] = true
		b.keep(i)
		from, i = i, b.parent[i]
	}
}

// place returns the index of the line with the ID, or -1.
func (b *branch) place(id string) int {
	if at, ok := b.at[id]; ok {
		return at
	}
	return -1
}

// keep marks the older lines that the line i keeps, and the line itself.
func (b *branch) keep(i int) {
	link := b.lines[i].Link
	if len(link.Kept) == 0 && link.Tail == "" {
		return
	}
	b.own[i] = true
	for _, id := range link.Kept {
		if at := b.place(id); at >= 0 && at < i {
			b.own[at] = true
		}
	}
	for at := b.place(link.Tail); at >= 0 && at < i && !b.own[at]; at = b.parent[at] {
		b.own[at] = true
		if b.lines[at].Link.ID == link.Head {
			break
		}
	}
}

// takeResults marks the lines before end that are beside the branch and belong to it: the results of its calls, and the other parts of its
// messages. An agent writes parallel calls one after the other, and each result behind its own call.
func (b *branch) takeResults(end int) {
	messages, calls := make(map[string]bool), make(map[string]bool)
	for i, l := range b.lines[:min(end, len(b.own))] {
		if !b.own[i] && b.parent[i] >= 0 && b.own[b.parent[i]] {
			b.own[i] = messages[l.Message] || slices.ContainsFunc(l.Ended, func(r dialect.Result) bool { return calls[r.ID] })
		}
		if !b.own[i] {
			continue
		}
		if l.Message != "" {
			messages[l.Message] = true
		}
		for _, c := range l.Begun {
			calls[c.ID] = true
		}
	}
}

// kept returns the indexes of the marked lines before end, and of the lines without a place between two of them. Headers are always kept.
func (b *branch) kept(end int) []int {
	var own, between []int
	before := true
	first := headers(b.lines[:end])
	for i, l := range b.lines[:len(b.own)] {
		switch {
		case i < first:
			own = append(own, i)
		case l.Link == nil && i < end:
			between = append(between, i)
		case l.Link != nil && !l.Aside:
			if before && b.own[i] {
				own = append(own, between...)
			}
			if before, between = b.own[i], nil; before && i < end {
				own = append(own, i)
			}
		}
	}
	if before && len(b.own) <= end {
		own = append(own, between...)
	}
	return own
}

package snapshot

import (
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// Mark says that a run stores a text with a secret as it is, because the text must not change.
type Mark struct {
	Digest string // names the secret without telling it
	Rule   string // the rule that found the secret
	Place  string // where the run has the text: "workflow/definition", "ext/ENGINE/NAME", "COLLECTION KEY"
}

// maxPlace is the largest size of a place in bytes. A longer place is cut.
const maxPlace = 200

// maxMarks is the largest number of marks of a run. More marks are dropped, because a search for secrets in the run reads
// everything anyway.
const maxMarks = 100

// String returns m as run.json has it.
func (m Mark) String() string { return m.Digest + " " + m.Rule + " " + m.Place }

// ParseMark reads a mark of a run.json. If text is not a mark, ok is false.
func ParseMark(text string) (m Mark, ok bool) {
	m.Digest, text, ok = strings.Cut(text, " ")
	if !ok {
		return m, false
	}
	m.Rule, m.Place, ok = strings.Cut(text, " ")
	return m, ok && m.Digest != "" && m.Rule != "" && m.Place != ""
}

// Marker finds the secrets in texts that are stored as they are.
type Marker interface {
	// Marks returns a mark for each secret in a text of the place. Marks does not modify text.
	Marks(place string, text []byte) ([]Mark, error)
}

// addMarks returns the marks of a run with those in found: sorted, each once, at most maxMarks.
func addMarks(marks []string, found []Mark) []string {
	if len(found) == 0 {
		return marks
	}
	out := slices.Clone(marks)
	for _, m := range found {
		m.Place = plain.Cut(strings.ToValidUTF8(m.Place, "\ufffd"), maxPlace)
		out = append(out, m.String())
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > maxMarks {
		kept := slices.DeleteFunc(slices.Clone(out), func(m string) bool { return !slices.Contains(marks, m) })
		for _, m := range out {
			if len(kept) < maxMarks && !slices.Contains(kept, m) {
				kept = append(kept, m)
			}
		}
		slices.Sort(kept)
		return kept
	}
	return out
}

// checkMarks returns an error if marks cannot be the marks of a run.
func checkMarks(marks []string) error {
	if len(marks) > maxMarks {
		return errors.New("more marks than a run can have")
	}
	for i, m := range marks {
		if _, ok := ParseMark(m); !ok {
			return errors.New("not a digest, a rule and a place")
		}
		if i > 0 && marks[i-1] >= m {
			return errors.New("not sorted")
		}
	}
	return nil
}

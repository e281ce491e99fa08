package timeline

import (
	"errors"
	"fmt"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// DropOlder is the command that moves the runs of format 1 out of the way.
const DropOlder = "git smithers doctor --drop-version-1"

// OlderFormat returns older_format for a run in a format that this version does not read. The hints say how to keep a
// copy of the run, how to read it, and how to move such runs out of the way.
func OlderFormat(older *snapshot.OlderFormatError) *fault.Error {
	tip, err := refs.Tip(older.Run)
	if err != nil {
		tip = ""
	}
	return OlderFormatAt(older, tip)
}

// OlderFormatAt is OlderFormat for a run that the ref at leads to, rather than the run's tip. at is "" if no ref leads
// to the run.
func OlderFormatAt(older *snapshot.OlderFormatError, at refs.Name) *fault.Error {
	out := fault.New(fault.OlderFormat, "%w", older).Detail("format", older.Format)
	if older.Run != "" {
		out.Msg = fmt.Sprintf("run %q is in format %d, which this version does not read", older.Run, older.Format)
		out = out.Detail("runId", older.Run)
	}
	if component, err := refs.EscapeRun(older.Run); err == nil && at != "" {
		out = out.Hint("`git bundle create %s %s` keeps a copy of the run", fault.Word(component+".bundle"), fault.Word(string(at)))
	}
	return out.Hint("in a clone of git-smithers, `git checkout format-%d && make build` builds the version that reads it", older.Format).
		Hint("`%s` moves all such runs out of the way; with --undo it brings them back", DropOlder)
}

// RefuseOlder returns older_format if the commit is an entry in an older version of the format. It returns nil for every
// other commit, and for a commit that cannot be read.
func (s *Store) RefuseOlder(tip objstore.ID) error {
	if older := snapshot.OlderFormat(s.objects, tip); older != nil {
		return OlderFormat(older)
	}
	return nil
}

// withoutOlder splits problems of runs into those of runs in an older format and all others.
func withoutOlder(problems []error) (older []*snapshot.OlderFormatError, others []error) {
	for _, problem := range problems {
		if found, ok := errors.AsType[*snapshot.OlderFormatError](problem); ok {
			older = append(older, found)
		} else {
			others = append(others, problem)
		}
	}
	return older, others
}

// WarnOfOlder warns once about runs in an older format. what says what became of the runs, such as "left out".
func (s *Store) WarnOfOlder(what string, runs []*snapshot.OlderFormatError) {
	switch len(runs) {
	case 0:
	case 1:
		s.WarnOnce(fmt.Errorf("%s: run %q is in format %d: `%s` moves it out of the way", what, runs[0].Run, runs[0].Format, DropOlder))
	default:
		s.WarnOnce(fmt.Errorf("%s: %d runs are in format %d, such as %q: `%s` moves them out of the way",
			what, len(runs), runs[0].Format, runs[0].Run, DropOlder))
	}
}

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

// OlderFormat returns older_format for a run in a format that this version does not read. The hints have three
// commands. The first keeps a copy of the run, the second builds a version that reads the run, and the third moves
// such runs out of the way.
func OlderFormat(older *snapshot.OlderFormatError) *fault.Error {
	tip, err := refs.Tip(older.Run)
	if err != nil {
		tip = ""
	}
	return OlderFormatAt(older, tip)
}

// OlderFormatAt returns the error of OlderFormat for a run that is not at its tip's ref. at is the ref that leads
// to the run, or "" if there is none. Without a ref, no hint says how to keep a copy of the run.
func OlderFormatAt(older *snapshot.OlderFormatError, at refs.Name) *fault.Error {
	out := fault.New(fault.OlderFormat, "%w", older).Detail("format", older.Format)
	if older.Run != "" {
		out.Msg = fmt.Sprintf("run %q is in format %d, which this version does not read", older.Run, older.Format)
		out = out.Detail("runId", older.Run)
	}
	if component, err := refs.EscapeRun(older.Run); err == nil && at != "" {
		out = out.Hint("`git bundle create %s %s` keeps a copy of the run", fault.Word(component+".bundle"), fault.Word(string(at)))
	}
	return out.Hint("in a clone of git-smithers, `git checkout format-%d && make build` builds the version that reads the run", older.Format).
		Hint("`%s` moves all such runs out of the way; with --undo, the command brings the runs back", DropOlder)
}

// RefuseOlder returns older_format if the commit tip is an entry in an older format. It returns nil for every
// other commit, and for a commit that cannot be read.
func RefuseOlder(r objstore.Reader, tip objstore.ID) error {
	if older := snapshot.OlderFormat(r, tip); older != nil {
		return OlderFormat(older)
	}
	return nil
}

// splitOlder splits problems into the errors about runs in an older format and all other errors, each in their
// order.
func splitOlder(problems []error) (older []*snapshot.OlderFormatError, others []error) {
	for _, problem := range problems {
		if found, ok := errors.AsType[*snapshot.OlderFormatError](problem); ok {
			older = append(older, found)
		} else {
			others = append(others, problem)
		}
	}
	return older, others
}

// WarnOfOlder warns about runs in an older format, with one warning for all runs. prefix begins the warning, and
// says what happened to the runs, such as "left out". WarnOfOlder gives a warning with the same text only once. If
// runs is empty, it does nothing.
func WarnOfOlder(s *Store, prefix string, runs []*snapshot.OlderFormatError) {
	switch len(runs) {
	case 0:
	case 1:
		s.WarnOnce(fmt.Errorf("%s: run %q is in format %d: `%s` moves the run out of the way", prefix, runs[0].Run, runs[0].Format, DropOlder))
	default:
		s.WarnOnce(fmt.Errorf("%s: %d runs are in format %d, such as %q: `%s` moves them out of the way",
			prefix, len(runs), runs[0].Format, runs[0].Run, DropOlder))
	}
}

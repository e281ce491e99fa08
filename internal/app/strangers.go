package app

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// FilesTrust decides whether commands may run on the files of runs that this clone has not recorded.
type FilesTrust struct {
	TrustFiles []string       // the ids of runs on whose files commands may run
	AskFiles   FilesConsenter // asked about the files of other runs; nil refuses them
}

// A FilesConsenter decides whether commands run on the files of a run that this clone has not recorded. It returns nil if they may run, else an
// error such as untrusted_files.
type FilesConsenter func(StrangersFiles) error

// StrangersFiles are the files of a run that this clone has not recorded.
type StrangersFiles struct {
	Run   string
	Named []string // the files that the commands name, sorted
	Input []string // lines that show the input that the commands get
}

// Untrusted returns the error untrusted_files. reason says, with the id of the run, why nothing was run.
func (f StrangersFiles) Untrusted(reason string) *fault.Error {
	out := fault.New(fault.UntrustedFiles, reason, f.Run).Detail("runId", f.Run).Detail("files", f.Named)
	if len(f.Named) > 0 {
		out = out.Hint("the commands name these files of the run: %s", f.NamedText())
	}
	for _, line := range f.Input {
		out = out.Hint("%s", line)
	}
	return out
}

// NamedText returns the first names of f.Named without control characters, and the number of the others.
func (f StrangersFiles) NamedText() string {
	const shown = 10
	text := plain.Text(strings.Join(f.Named[:min(shown, len(f.Named))], ", "))
	if more := len(f.Named) - shown; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// filesCheck decides whether commands may run on the files of an entry.
type filesCheck struct {
	*Desk
	FilesTrust
	entry   *snapshot.Entry
	brought bool // the files come from the entry; otherwise they are those of the user's working copy

	origin timeline.Origin // of the entry; set by check
}

// input returns the input of the run at the entry, or nil.
func (f *filesCheck) input() (json.RawMessage, error) {
	state, err := f.entry.State()
	if err != nil {
		return nil, err
	}
	return state.Input()
}

// check returns nil if this clone has recorded the entry, or if the user agrees to run commands on its files. If the files do not come from the
// entry, a question would say nothing of them: then only FilesTrust.TrustFiles counts.
func (f *filesCheck) check(commands []command) (err error) {
	if f.origin, err = f.Store.Origin(f.entry); err != nil || f.origin != timeline.Stranger {
		return err
	}
	files := StrangersFiles{Run: f.entry.Stored().Run, Named: []string{}}
	if slices.Contains(f.TrustFiles, files.Run) {
		return nil
	}
	input, err := f.input()
	if err != nil {
		return timeline.Explain(err)
	}
	files.Input = bothEnds(inputLines(input))
	if !f.brought {
		return files.Untrusted("run %q was not recorded in this clone, so it does not go on in your own files").
			Hint("add --restore-vcs to use the files of the run, or --trust-files %s to go on in the files that are here", fault.Word(files.Run))
	}
	if files.Named, err = f.named(commands); err != nil {
		return timeline.Explain(err)
	}
	if f.AskFiles != nil {
		return f.AskFiles(files)
	}
	return files.Untrusted("run %q was not recorded in this clone, so its files are somebody else's").
		Hint("nothing was run; add --trust-files %s to run commands on these files", fault.Word(files.Run))
}

// note notes that the user agreed to the files, after check.
func (f *filesCheck) note() error {
	if f.origin != timeline.Stranger {
		return nil
	}
	return f.Store.Agree(f.entry)
}

// consent asks for consent to the commands of wf, as askConsent does, then for consent to the files, and calls more, which may be nil. Nothing is
// noted if one of them returns an error. The commands of a stranger's run count as not named: smithers.sandbox=required puts them into sandboxes.
func (f *filesCheck) consent(wf *workflow.Workflow, named bool, ask Consenter, more func() error) (consent.Workflow, error) {
	checked := false
	check := func() error {
		checked = true
		err := f.check(commandsOf(wf))
		if err == nil && more != nil {
			err = more()
		}
		if err == nil {
			err = f.note()
		}
		return err
	}
	input, err := f.input()
	if err != nil {
		return consent.Workflow{}, timeline.Explain(err)
	}
	agreed, err := askConsent(f.Store, wf, named, input, func(of Commands) (err error) {
		if of.Known, err = knownWorkflow(f.Store, f.entry); err == nil {
			err = ask.decide(of)
		}
		if err != nil {
			return err
		}
		return check()
	})
	// If the commands were confirmed before, askConsent has not called the function above.
	if err == nil && !checked {
		err = check()
	}
	if f.origin != timeline.Recorded {
		agreed = agreed.Unnamed()
	}
	return agreed, err
}

// agree asks for consent to the commands of wf, unless the user has named their file, and to the files. What named commands are is noted when
// they run.
func (f *filesCheck) agree(wf *workflow.Workflow, named bool, ask Consenter) error {
	if !named {
		_, err := f.consent(wf, false, ask, nil)
		return err
	}
	return f.agreeToFiles(commandsOf(wf))
}

// agreeToFiles asks for consent to the files, on which commands run, and notes it.
func (f *filesCheck) agreeToFiles(commands []command) error {
	err := f.check(commands)
	if err == nil {
		err = f.note()
	}
	return err
}

// maxNamed is the largest number of words of commands that named looks up.
const maxNamed = 2000

// named returns the files and folders of the entry that the commands name, sorted.
func (f *filesCheck) named(commands []command) ([]string, error) {
	vcs, err := f.entry.VCSRevision()
	if err != nil || vcs == nil {
		return []string{}, err
	}
	trees := []objstore.ID{vcs.Tree}
	for _, w := range vcs.Worktrees {
		trees = append(trees, w.Tree)
	}
	out, seen := []string{}, make(map[string]bool)
	for _, c := range commands {
		for word := range strings.FieldsFuncSeq(strings.Join(append(c.Env, c.Command), "\n"), isBetweenNames) {
			name := path.Clean(word)
			if seen[name] || len(seen) == maxNamed || name == "." || !filepath.IsLocal(name) {
				continue
			}
			seen[name] = true
			for _, tree := range trees {
				at, err := jjbridge.FileAt(f.Store.Objects(), tree, name)
				if err != nil {
					return nil, err
				}
				if at.Mode != 0 {
					out = append(out, name)
					break
				}
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// isBetweenNames reports whether c ends a word of a command that can name a file.
func isBetweenNames(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_./@+%~-", c)
}

// brings reports whether all commands of a run work on files that come from its frames: in a worktree of the run or of the task.
func (d *Desk) brings(head *timeline.Head, wf *workflow.Workflow) (bool, error) {
	own, err := files.OwnWorktreeOf(d.Store, head)
	return own != nil || wf.Worktree != nil || !slices.ContainsFunc(wf.Tasks, worksHere), err
}

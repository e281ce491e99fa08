package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// WhatIf asks for another course of a session from a frame on.
type WhatIf struct {
	From   string // the address of the frame
	Branch string // the new branch on which the files are; "" for none
	Dir    string // the absolute path of a missing or empty folder for the files; "" chooses one beside the working copy
	Prompt string // the new prompt; may be ""
	Env    []string
	// Run is the id of the course's run, as NewRun returns it; "" for a new one.
	Run string
	// Try is how often the course was tried to be made before, and a process was killed meanwhile. Something may be left in the folder of that time.
	Try int
	// Here makes no working copy: the conversation goes on in the working copy of the store, as it is. Dir and Branch are "".
	Here bool
	// Effects is asked if effects of the session outside its run come after the frame. If it returns an error, nothing is made. May be nil.
	Effects timeline.ConfirmEffects
}

// Course is another course of a session: its files in a working copy of their own, and its conversation where the agent finds it.
type Course struct {
	From    timeline.Address
	Agent   string // its name
	Run     string
	Session string             // the agent's own id
	Dir     string             // the working copy
	Files   *files.WorkingCopy // at Dir, and not equipped yet; nil if Plan has planned the course, or it goes on here
	File    string             // the agent's file with the conversation; "" if nothing was said before the frame
	Kept    int                // lines of the conversation up to the frame
	Of      int                // lines of the whole conversation
	Missing int                // secrets that this clone does not have, so that placeholders stay in the conversation
	Command []string           // starts the agent in Dir
	// Recorded says that this clone has recorded the session. Otherwise what the agent would obey is a stranger's.
	Recorded bool
}

// Plan returns the course that Make would make, and makes nothing. Its ids and its folder are not known yet. Codes: those of Load;
// invalid_input if the run is not a session; no_code if the frame has no files.
func (w WhatIf) Plan(ctx context.Context, s *timeline.Store) (*Course, error) {
	course, _, err := w.plan(ctx, s)
	return course, err
}

// Make makes a working copy with the files of the frame, a fork of the run, and the conversation up to the frame as a session of the agent
// that goes on there. The session of before, its files and its conversation stay as they are. If Make fails, it leaves nothing.
func (w WhatIf) Make(ctx context.Context, s *timeline.Store) (_ *Course, err error) {
	course, kept, err := w.plan(ctx, s)
	if err != nil {
		return nil, err
	}
	course.Run = cmp.Or(w.Run, Run(kept.mem.Agent, newSession(kept.speaks)))
	course.Session = strings.TrimPrefix(course.Run, Run(kept.mem.Agent, ""))
	made, err := w.checkOut(ctx, s, course)
	if err != nil {
		return nil, err
	}
	var resumed dialect.Resumed
	defer func() {
		if err != nil {
			err = errors.Join(err, made.Discard(context.WithoutCancel(ctx)))
			for _, file := range append(resumed.More, resumed.File) {
				_ = os.Remove(file) // it has no other copy to lose
			}
		}
	}()
	if target, err := filepath.EvalSymlinks(course.Dir); err == nil {
		course.Dir = target // the agent names its files by this path
	}
	resumed, err = kept.speaks.Resume(dialect.Course{
		Lines: kept.lines, Sessions: kept.mem.Sessions, Session: course.Session, Folder: kept.folders[0], Earlier: kept.folders[1:],
		Dir: course.Dir, Prompt: w.Prompt,
		AtMs: s.Now().UnixMilli(), Env: w.Env,
	})
	course.File, course.Command = resumed.File, resumed.Command
	if err != nil {
		return nil, err
	}
	if err := w.fork(ctx, s, course, kept, resumed.Size); err != nil {
		return nil, err
	}
	if course.Recorded {
		err = noteRecorded(s, course.Run)
	}
	return course, err
}

// checkOut makes the working copy of a course, unless w.Here is set, and sets Dir and Files.
func (w WhatIf) checkOut(ctx context.Context, s *timeline.Store, course *Course) (*files.CheckoutResult, error) {
	if w.Here {
		course.Dir = s.Workspace().Root
		return nil, nil //nolint:nilnil // the course has no working copy of its own
	}
	name := "what-if-" + shortName(course.Session)
	if w.Try > 0 {
		name = fmt.Sprintf("%s-%d", name, w.Try+1)
	}
	made, err := files.Checkout(ctx, s, files.CheckoutRequest{From: course.From.String(), Dir: w.Dir, Branch: w.Branch, Name: name, Run: course.Run})
	if err == nil {
		course.Dir, course.Files = made.WorkingCopy.Root(), made.WorkingCopy
	}
	return made, err
}

// keptLines is what a course keeps of a conversation.
type keptLines struct {
	speaks  *dialect.Dialect
	lines   []dialect.Line
	of      []string        // the names of their transcripts
	mem     *memory         // at the frame
	folders []string        // in which the agent has worked; not empty
	head    *snapshot.Entry // the newest entry of the session
	// replaces reports whether the frame is the frame of a prompt: the conversation ends before the prompt, so the course's first prompt takes its place.
	replaces bool
}

// CanGoOn reports whether a WhatIf can go on from an entry of a session: its agent is known to go on with a conversation, and the entry
// has files. It returns false if the entry cannot be read.
func CanGoOn(entry *snapshot.Entry) bool {
	mem, err := memoryOf(entry)
	if err != nil {
		return false
	}
	speaks, ok := dialect.Of(mem.Agent)
	vcs, err := entry.VCSRevision()
	return ok && speaks.Resume != nil && err == nil && vcs != nil && !vcs.Tree.IsZero()
}

// plan does the work of Plan, and returns what the course keeps.
func (w WhatIf) plan(ctx context.Context, s *timeline.Store) (*Course, *keptLines, error) {
	at, err := s.Load(ctx, w.From)
	if err != nil {
		return nil, nil, err
	}
	mem, err := memoryOf(at.Entry)
	if err != nil {
		return nil, nil, fault.New(fault.InvalidInput, "%s: %w", at.Address, err).Hint("`git smithers fork` forks any run")
	}
	speaks, ok := dialect.Of(mem.Agent)
	if !ok || speaks.Resume == nil {
		return nil, nil, fault.New(fault.Usage, "git-smithers does not know how the agent %q goes on with a conversation", mem.Agent).
			Hint("`%s restore %s --to DIR` makes a working copy with the files of the frame", fault.Program, fault.Word(at.Address.String()))
	}
	vcs, err := at.Entry.VCSRevision()
	if err != nil {
		return nil, nil, timeline.Explain(err)
	}
	if vcs == nil || vcs.Tree.IsZero() {
		return nil, nil, fault.New(fault.NoCode, "no files were captured for %s", at.Address).
			Hint("the frames of an imported session have no files: go on with it in the agent itself")
	}
	then, err := readConversation(s, speaks, at.Entry, mem)
	if err != nil {
		return nil, nil, err
	}
	head, err := s.Head(ctx, at.Address.Run)
	if err != nil {
		return nil, nil, err
	}
	whole, err := readConversation(s, speaks, head.Entry(), mem)
	if err != nil {
		return nil, nil, err
	}
	before := len(then.lines)
	if size := mem.Read[mem.transcript()].Size; size > 0 {
		before = whole.before(mem.transcript(), size)
	}
	own := cut(whole.lines, before, at.Entry.IDs)
	folders := foldersOf(whole.lines, s.Workspace().Root)
	kept := &keptLines{speaks: speaks, mem: mem, folders: folders, head: head.Entry(), replaces: mem.Turn > 0 && slices.Contains(at.Entry.IDs, TurnID(mem.Turn))}
	end := 0
	for _, i := range own {
		kept.lines, kept.of, end = append(kept.lines, whole.lines[i]), append(kept.of, whole.of[i]), i+1
	}
	mem.leave(whole.ends(end))
	course := &Course{From: at.Address, Agent: mem.Agent, Missing: then.missing, Recorded: IsRecordedHere(s, at.Address.Run)}
	course.Kept, course.Of = wholeLines(kept.lines), wholeLines(whole.lines)
	return course, kept, nil
}

// wholeLines returns the number of lines without those of which only the place is stored.
func wholeLines(lines []dialect.Line) (n int) {
	for _, l := range lines {
		if !l.LeftOut {
			n++
		}
	}
	return n
}

// The labels of the forks that WhatIf makes, in another folder and here.
const (
	WhatIfLabel    = "what if"
	ContinuedLabel = "continued"
)

// fork makes the fork of the session's run at the frame. size is the size of the file with the conversation.
func (w WhatIf) fork(ctx context.Context, s *timeline.Store, course *Course, kept *keptLines, size int64) error {
	mem := kept.mem
	req := timeline.ForkRequest{From: course.From.String(), RunID: course.Run, Label: WhatIfLabel, Effects: w.Effects}
	if w.Here {
		req.Label = ContinuedLabel
	}
	if kept.replaces {
		req.Prepare = func(*snapshot.State, snapshot.Reveal) ([]snapshot.Change, error) { return mem.withoutTurn(), nil }
	}
	head, err := s.Fork(ctx, req)
	if err != nil {
		return err
	}
	late, err := kept.missingIn(head.Entry())
	if err != nil {
		return err
	}
	mem.enter(course.Session, size)
	if mem.Cut = !kept.replaces; kept.replaces {
		cut, err := mem.takeBackTurn(head.Entry(), s.Now().UnixMilli())
		if err != nil {
			return err
		}
		late = append(late, cut...)
	}
	ext, err := mem.draft()
	if err != nil {
		return err
	}
	return head.Append(ctx, snapshot.Draft{Journal: late, Ext: ext, Subject: "what if"})
}

// withoutTurn returns the changes of the state that take out the newest turn.
func (m *memory) withoutTurn() []snapshot.Change {
	key := snapshot.Key(turnNode, m.Turn)
	return []snapshot.Change{
		snapshot.RemoveRow(snapshot.CollectionNodes, key), snapshot.RemoveRow(snapshot.OutputCollection(promptsTable), key),
	}
}

// takeBackTurn takes the newest turn out of the memory, so that the next prompt has its number, and returns the change of the journal by which its
// attempt has ended until then. entry is the course's.
func (m *memory) takeBackTurn(entry *snapshot.Entry, atMs int64) ([]snapshot.Change, error) {
	attempt, found, err := entry.Attempt(turnNode, m.Turn, 1)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	m.Turn, m.Calls = m.Turn-1, 0
	for call, err := range entry.AllToolCalls() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if call.NodeID == turnNode && call.Iteration == m.Turn {
			m.Calls = max(m.Calls, call.Seq+1)
		}
	}
	if !found {
		return nil, nil
	}
	attempt.State, attempt.FinishedAtMs = snapshot.AttemptCancelled, &atMs
	return []snapshot.Change{snapshot.SetRow(snapshot.CollectionAttempts, snapshot.EncodeAttempt(attempt))}, nil
}

// shortName returns a name for a session in the name of a folder. It is the end of the id, because the ids of some agents begin with the
// time, and has no capital letters: a folder has them as percent signs, which opencode takes for an encoding.
func shortName(session string) string { return strings.ToLower(session[max(0, len(session)-8):]) }

// NewRun returns the id of a run for a new session of an agent.
func NewRun(agent string) string { return Run(agent, newSession(dialect.For(agent))) }

// SeatOf returns the agent of a session and, without flags and environment, the seat from which it goes on. entry is the newest one of the session.
func SeatOf(entry *snapshot.Entry) (agent string, seat dialect.Seat, err error) {
	mem, err := memoryOf(entry)
	if err != nil {
		return "", seat, err
	}
	return mem.Agent, dialect.Seat{Session: mem.session(), Began: mem.Read[mem.transcript()].Offset > 0}, nil
}

// newSession returns a new id of a session.
func newSession(speaks *dialect.Dialect) string {
	if speaks.NewSession != nil {
		return speaks.NewSession()
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

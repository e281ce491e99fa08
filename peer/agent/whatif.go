package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
	"github.com/git-smithers/git-smithers/timeline/fault"
	"github.com/git-smithers/git-smithers/timeline/list"
)

// Address returns the address of a frame of a session for what people type: SESSION, SESSION:N or RUN@ID. SESSION is a run, the agent's own
// id, or "@", the newest session of the repository. N is the number of a frame, "turn:7", or the id of a tool call.
func Address(ctx context.Context, s *timeline.Store, text string) (string, error) {
	name, at, _ := strings.Cut(text, ":")
	if strings.Contains(strings.TrimPrefix(name, "@"), "@") {
		return text, nil
	}
	run, err := sessionRun(ctx, s, name)
	switch {
	case err != nil || at == "":
		return run, err
	case strings.Trim(at, "0123456789") == "":
		return run + ":" + at, nil
	}
	return run + "@" + at, nil
}

// sessionRun returns the id of the run that name names: a run, the agent's own id of a session, or "@".
func sessionRun(ctx context.Context, s *timeline.Store, name string) (string, error) {
	if name != "@" {
		run, err := s.ResolveRun(ctx, name)
		if fault.CodeOf(err) == fault.RunNotFound {
			if of, other := s.ResolveRun(ctx, Run(Claude, name)); other == nil {
				return of, nil
			}
		}
		return run, err
	}
	runs, err := list.Runs(ctx, s)
	if err != nil {
		return "", err
	}
	var newest list.RunInfo
	for _, run := range runs {
		// A fork is pending until its agent has begun: it is no session yet.
		isSession := run.WorkflowName == Claude && strings.HasPrefix(run.RunID, Run(Claude, "")) && run.Status != string(snapshot.RunPending)
		if isSession && run.UpdatedAtMs >= newest.UpdatedAtMs {
			newest = run
		}
	}
	if newest.RunID == "" {
		return "", fault.New(fault.RunNotFound, "there is no session of a coding agent").
			Hint("`git smithers session enable` records sessions from then on")
	}
	return newest.RunID, nil
}

// WhatIf asks for another course of a session from a frame on.
type WhatIf struct {
	From   string // the address of the frame
	Dir    string // the absolute path of a missing or empty folder for the files; "" chooses one beside the working copy
	Prompt string // what is said instead; may be ""
	Env    []string
}

// Course is another course of a session: its files in a working copy of their own, and its conversation where the agent finds it.
type Course struct {
	From    timeline.Address
	Run     string
	Session string   // the agent's own id
	Dir     string   // the working copy
	File    string   // the agent's file with the conversation; "" if nothing was said before the frame
	Kept    int      // lines of the conversation up to the frame
	Of      int      // lines of the whole conversation
	Missing int      // secrets that this clone does not have, so that placeholders stay in the conversation
	Command []string // starts the agent in Dir
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
	course.Session = newSessionID()
	course.Run = Run(Claude, course.Session)
	made, err := code.Checkout(ctx, s, code.CheckoutRequest{
		From: course.From.String(), Dir: w.Dir, Name: "what-if-" + course.Session[:8], Run: course.Run,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.Discard(context.WithoutCancel(ctx)))
			if course.File != "" {
				_ = os.Remove(course.File) // it has no other copy to lose
			}
		}
	}()
	course.Dir = made.WorkingCopy.Root()
	if target, err := filepath.EvalSymlinks(course.Dir); err == nil {
		course.Dir = target // the agent names its files by this path
	}
	course.Command = []string{Claude, "--session-id", course.Session}
	size := 0
	if len(kept.lines) > 0 {
		text := rewriting{kept.sessions, course.Session, kept.folder, course.Dir}.lines(kept.lines)
		size = len(text)
		if course.File, err = claudeFile(w.Env, course.Dir, course.Session); err != nil {
			return nil, err
		}
		if err := replaceFile(course.File, text); err != nil {
			return nil, err
		}
		course.Command = []string{Claude, "--resume", course.Session}
	}
	if w.Prompt != "" {
		course.Command = append(course.Command, w.Prompt)
	}
	return course, forkSession(ctx, s, course, kept.mem, int64(size))
}

// keptLines is what a course keeps of a conversation.
type keptLines struct {
	lines    []line
	mem      *memory // at the frame
	sessions []string
	folder   string // in which the agent has worked
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
	if vcs, err := at.Entry.VCSRevision(); err != nil || vcs == nil || vcs.Tree.IsZero() {
		return nil, nil, cmp.Or(timeline.Explain(err), error(fault.New(fault.NoCode, "no files were captured for %s", at.Address)))
	}
	then, err := readConversation(s, at.Entry, mem)
	if err != nil {
		return nil, nil, err
	}
	head, err := s.Head(ctx, at.Address.Run)
	if err != nil {
		return nil, nil, err
	}
	whole, err := readConversation(s, head.Entry(), mem)
	if err != nil {
		return nil, nil, err
	}
	if len(whole.lines) < len(then.lines) {
		whole = then
	}
	lines := cut(whole.lines, len(then.lines), at.Entry.IDs)
	folder := folderOf(whole.lines)
	if root := s.Workspace().Root; root != "" && strings.HasPrefix(folder+"/", root+"/") {
		folder = root
	}
	return &Course{From: at.Address, Kept: len(lines), Of: len(whole.lines), Missing: then.missing},
		&keptLines{lines, mem, mem.Sessions, folder}, nil
}

// forkSession makes the fork of the session's run at the frame. size is the size of the file with the conversation.
func forkSession(ctx context.Context, s *timeline.Store, course *Course, mem *memory, size int64) error {
	head, err := s.Fork(ctx, timeline.ForkRequest{From: course.From.String(), RunID: course.Run, Label: "what if"})
	if err != nil {
		return err
	}
	mem.Sessions, mem.Open = append(mem.Sessions, course.Session), nil
	mem.setRead(course.Session, size)
	ext, err := mem.draft()
	if err != nil {
		return err
	}
	return head.Append(ctx, snapshot.Draft{Ext: ext, Subject: "what if"})
}

// claudeFile returns the path of the file in which Claude Code looks for a session of a folder.
func claudeFile(env []string, dir, session string) (string, error) {
	get := func(name string) string {
		value := ""
		for _, v := range env {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				value = text
			}
		}
		return value
	}
	config := get("CLAUDE_CONFIG_DIR")
	if config == "" {
		home := get("HOME")
		if home == "" {
			return "", fault.New(fault.Usage, "HOME is not set, so Claude Code's folder is unknown")
		}
		config = filepath.Join(home, ".claude")
	}
	return filepath.Join(config, "projects", noLetters.ReplaceAllString(dir, "-"), session+".jsonl"), nil
}

// noLetters matches what Claude Code replaces in the name of a project's folder.
var noLetters = regexp.MustCompile(`[^a-zA-Z0-9]`)

// newSessionID returns a new id of a session: a random UUID.
func newSessionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

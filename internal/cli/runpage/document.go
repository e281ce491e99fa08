package runpage

import (
	"encoding/json"

	"github.com/git-smithers/git-smithers/internal/app/summary"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/engine/mailbox"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
)

// A Document is the member summary of show --json. Times are in milliseconds since 1970, and durations in milliseconds.
type Document struct {
	Reason   *string          `json:"reason"` // why the run failed, or what it waits for; null for neither
	StartMs  int64            `json:"startMs"`
	EndMs    int64            `json:"endMs"`
	TookMs   int64            `json:"tookMs"`   // without the attempts of a fork's parent, and without waits
	WaitedMs int64            `json:"waitedMs"` // in which the run only waited
	Frames   int              `json:"frames"`
	Code     codeDocument     `json:"code"` // since the first frame; for a fork, of the run that it descends from
	Calls    callsDocument    `json:"calls"`
	Scorers  []scorerDocument `json:"scorers"`
	Usage    *summary.Usage   `json:"usage"`
	Failure  *failureDocument `json:"failure"`
	Steps    []stepDocument   `json:"steps"`
	Waits    []waitDocument   `json:"waits"`
	Turns    []turnDocument   `json:"turns,omitempty"` // of a session
	Forks    []forkDocument   `json:"forks"`           // the first ones
	Forked   int              `json:"forkCount"`       // of all forks
	Next     []Command        `json:"next"`
	// Unread has the parts that cannot be read, or not as a whole, with the reasons.
	Unread map[summary.Part]string `json:"unread,omitempty"`
}

// codeDocument counts changed files and lines.
type codeDocument struct {
	Files     int   `json:"files"`
	Added     int64 `json:"linesAdded"`
	Removed   int64 `json:"linesRemoved"`
	Uncounted int   `json:"uncounted"` // files that are binary or large
}

// callsDocument counts tool calls.
type callsDocument struct {
	Total  int `json:"total"`
	Failed int `json:"failed"`
}

// scorerDocument is the scores of one scorer. Each task counts once, by its newest attempt with a score.
type scorerDocument struct {
	Scorer string  `json:"scorer"`
	Count  int     `json:"count"`
	Mean   float64 `json:"mean"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// scorersOf returns the documents of scorers.
func scorersOf(scorers []summary.Scorer) []scorerDocument {
	out := make([]scorerDocument, len(scorers))
	for i, s := range scorers {
		out[i] = scorerDocument{s.Name, s.Count, s.Mean, s.Min, s.Max}
	}
	return out
}

// failureDocument says why the run failed. NodeID, Iteration and Attempt are null if no step failed.
type failureDocument struct {
	Error     string          `json:"error"`
	NodeID    *string         `json:"nodeId"`
	Iteration *int            `json:"iteration"`
	Attempt   *int            `json:"attempt"`
	Tries     int             `json:"tries"`      // attempts of the step that failed
	Also      []alsoDocument  `json:"also"`       // the other steps that failed the run, in the order in which they failed
	Log       []string        `json:"log"`        // the last lines, without control characters
	LogLines  int             `json:"logLines"`   // of the whole log
	Change    *changeDocument `json:"change"`     // the last change of files before the step began
	Retry     *int64          `json:"retryFrame"` // from which a replay with retryNodes tries the failed steps again; null if no step failed
	Nodes     []string        `json:"retryNodes"` // the failed steps, as --node of replay names them
	Denied    bool            `json:"denied"`     // a person denied an approval, and nothing else failed
}

// alsoDocument is a step that failed beside the first.
type alsoDocument struct {
	NodeID    string `json:"nodeId"`
	Iteration int    `json:"iteration"`
	Error     string `json:"error"`
}

// changeDocument is a frame that changed files.
type changeDocument struct {
	Frame  int64   `json:"frame"`
	Before int64   `json:"before"` // the frame on which it is based
	Step   *string `json:"step"`   // null if unknown or several
	codeDocument
}

// linesDocument counts changed lines; both are null if there are none or their number is unknown.
type linesDocument struct {
	Added   *int64 `json:"linesAdded"`
	Removed *int64 `json:"linesRemoved"`
}

// stepDocument is a step.
type stepDocument struct {
	NodeID    string             `json:"nodeId"`
	Iteration int                `json:"iteration"`
	Loop      *string            `json:"loop"`
	State     snapshot.NodeState `json:"state"`
	Inherited bool               `json:"inherited"` // all its attempts are from before the fork
	OpenNeeds []string           `json:"openNeeds"` // tasks and loops that are not done, of a pending step
	TookMs    int64              `json:"tookMs"`    // of its own attempts
	WaitedMs  int64              `json:"waitedMs"`
	linesDocument
	Attempts []attemptDocument `json:"attempts"`
}

// attemptDocument is an attempt of a step.
type attemptDocument struct {
	Attempt     int    `json:"attempt"`
	State       string `json:"state"`
	Error       string `json:"error,omitempty"`
	Inherited   bool   `json:"inherited"` // it ended before the fork
	Wait        bool   `json:"wait"`      // it is a wait, and no work
	StartedAtMs int64  `json:"startedAtMs"`
	TookMs      int64  `json:"tookMs"`
	Frame       *int64 `json:"frame"` // at which it ended or began to wait; null if unknown, or a frame of the parent
	Changed     bool   `json:"changed"`
	linesDocument
	Together bool `json:"together"` // attempts that ended at the same frame, or ran then, may have made the change
}

// waitDocument is a wait.
type waitDocument struct {
	mailbox.Waiting

	SinceMs  *int64   `json:"sinceMs"`
	Summary  *string  `json:"summary"` // of an approval
	Fields   []Field  `json:"fields"`  // of the answer, in words
	Commands []string `json:"commands"`
}

// forkDocument is a fork.
type forkDocument struct {
	RunID   string             `json:"runId"`
	Label   *string            `json:"branchLabel"`
	Frame   int64              `json:"parentFrameNo"`
	Status  snapshot.RunStatus `json:"status"`
	Stale   bool               `json:"stale"`
	Error   *string            `json:"error"`
	Differs []differDocument   `json:"differs"` // members of the input
	Step    *string            `json:"stepState"`
	Better  bool               `json:"better"` // the step that failed in the run has finished
	Code    codeDocument       `json:"code"`
}

// differDocument is a member of an input. Value is null if the input does not have it.
type differDocument struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// turnDocument is a turn of a session.
type turnDocument struct {
	Turn   int    `json:"turn"`
	State  string `json:"state"`
	Prompt string `json:"prompt"`
	Calls  int    `json:"calls"`
	Failed int    `json:"failed"` // calls
	TookMs int64  `json:"tookMs"`
	linesDocument
	First *int64 `json:"firstFrame"`
	Last  *int64 `json:"lastFrame"`
}

// Document returns the page as a document.
func (v *View) Document() *Document {
	doc := &Document{
		Reason: v.reason(), StartMs: v.StartMs, EndMs: v.EndMs, TookMs: v.TookMs, WaitedMs: v.WaitedMs, Frames: v.Frames.All,
		Code: codeOf(v.Code), Calls: callsDocument(v.Calls), Scorers: scorersOf(v.Scorers), Usage: v.Usage, Failure: v.failureDocument(), Steps: []stepDocument{},
		Waits: []waitDocument{}, Forks: []forkDocument{}, Forked: v.Forked, Next: v.Next,
	}
	for i := range v.Steps {
		doc.Steps = append(doc.Steps, v.stepDocument(&v.Steps[i]))
	}
	for i := range v.Waits {
		w := &v.Waits[i]
		one := waitDocument{Waiting: w.Waiting, Summary: display.OrNull(w.Summary), Fields: fieldsOf(w.Form), Commands: orEmpty(w.Commands)}
		if w.SinceMs > 0 {
			one.SinceMs = &w.SinceMs
		}
		one.Fields = orEmpty(one.Fields)
		doc.Waits = append(doc.Waits, one)
	}
	for i := range v.Forks {
		doc.Forks = append(doc.Forks, forkDocumentOf(&v.Forks[i]))
	}
	for i := range v.turns {
		doc.Turns = append(doc.Turns, turnDocumentOf(&v.turns[i]))
	}
	for part, err := range v.Unread {
		if doc.Unread == nil {
			doc.Unread = make(map[summary.Part]string)
		}
		doc.Unread[part] = err.Error()
	}
	return doc
}

// orEmpty returns list, or an empty list if it is nil, so that it is not null in JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// reason returns why the run failed, or what it waits for first, or nil for neither.
func (v *View) reason() *string {
	switch {
	case v.Failure != nil:
		return display.OrNull(v.Failure.Error)
	case v.Row.Status.Waiting() && len(v.Waits) > 0:
		w := v.Waits[0]
		return display.OrNull(snapshot.Key(w.NodeID, w.Iteration) + " waits for " + w.For + ": " + w.What)
	}
	return nil
}

// codeOf returns the document of a code.
func codeOf(c summary.Code) codeDocument {
	return codeDocument{c.Files, c.Added, c.Removed, c.Uncounted}
}

// linesOf returns the document of lines, which may be nil.
func linesOf(l *sqliteindex.Lines) linesDocument {
	if l == nil {
		return linesDocument{}
	}
	return linesDocument{&l.Added, &l.Removed}
}

// failureDocument returns the document of the failure, or nil if the run has not failed.
func (v *View) failureDocument() *failureDocument {
	f := v.Failure
	if f == nil {
		return nil
	}
	doc := &failureDocument{Error: f.Error, Tries: f.Tries, Log: orEmpty(v.log), Nodes: []string{}, Also: []alsoDocument{}, LogLines: len(v.log) + v.cut}
	if f.Attempt != nil {
		doc.NodeID, doc.Iteration, doc.Attempt = &f.Attempt.NodeID, &f.Attempt.Iteration, &f.Attempt.Attempt.Attempt
	}
	for _, step := range f.Also {
		doc.Also = append(doc.Also, alsoDocument{step.NodeID, step.Iteration, step.Last().Error})
	}
	if f.Retry != nil {
		doc.Retry, doc.Nodes, doc.Denied = &f.Retry.Frame, orEmpty(f.Retry.Nodes), f.Retry.Denied
	}
	if c := f.Change; c != nil {
		doc.Change = &changeDocument{c.Frame, c.Before, display.OrNull(c.Step), codeOf(c.Code)}
	}
	return doc
}

// stepDocument returns the document of a step.
func (v *View) stepDocument(s *summary.Step) stepDocument {
	doc := stepDocument{
		NodeID: s.NodeID, Iteration: s.Iteration, Loop: s.RalphID, State: s.State, Inherited: s.Inherited, OpenNeeds: orEmpty(s.OpenNeeds),
		linesDocument: linesOf(s.Lines()), Attempts: []attemptDocument{},
	}
	for _, a := range s.Attempts {
		one := attemptDocument{
			Attempt: a.Attempt.Attempt, State: a.State, Error: a.Error, Inherited: a.Inherited, Wait: a.Wait, StartedAtMs: a.StartedAtMs,
			TookMs: a.TookMs(), Changed: a.Changed, linesDocument: linesOf(a.Lines), Together: a.Together,
		}
		if no, ok := v.FrameOf(a); ok {
			one.Frame = &no
		}
		doc.Attempts = append(doc.Attempts, one)
		switch {
		case a.Inherited:
		case a.Wait:
			doc.WaitedMs += a.TookMs()
		default:
			doc.TookMs += a.TookMs()
		}
	}
	return doc
}

// forkDocumentOf returns the document of a fork.
func forkDocumentOf(f *summary.Fork) forkDocument {
	doc := forkDocument{
		RunID: f.RunID, Label: f.BranchLabel, Frame: f.ParentFrameNo, Status: f.Status, Stale: f.Stale, Error: display.OrNull(f.Error),
		Differs: []differDocument{}, Step: display.OrNull(string(f.StepState)), Better: f.Better, Code: codeOf(f.Code),
	}
	for _, m := range f.Differs {
		doc.Differs = append(doc.Differs, differDocument(m))
	}
	return doc
}

// turnDocumentOf returns the document of a turn.
func turnDocumentOf(t *turn) turnDocument {
	took, _ := t.step.TookMs()
	doc := turnDocument{Turn: t.step.Iteration, State: string(t.step.State), Prompt: t.prompt, Calls: t.calls, Failed: t.failed, TookMs: took, linesDocument: linesOf(t.lines)}
	if t.last >= t.first {
		doc.First, doc.Last = &t.first, &t.last
	}
	return doc
}

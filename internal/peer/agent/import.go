package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	// maxTranscript is the size of the largest file that is imported, in bytes.
	maxTranscript = 256 << 20
	// heldLines is the size of the lines, in bytes, after which an import makes rows of them.
	heldLines = 4 << 20
	// betweenTexts is what stands between the texts of one message.
	betweenTexts = "\n\n"
)

// Import makes a run of an agent's file with a conversation that no hook has recorded. The run has no files.
type Import struct {
	Speaks   *dialect.Dialect
	Path     string
	Shown    string                // what messages call the file
	Progress func(done, total int) // of the file, in KiB; may be nil
}

// Imported is a run that was imported.
type Imported struct {
	Run     string `json:"run"`
	Session string `json:"session"`
	Turns   int    `json:"turns"`
	Frames  int    `json:"frames"`
	Lines   int    `json:"lines"`   // that are stored
	TooLong int    `json:"tooLong"` // lines that are left out, because they are too long
}

// Run imports the file. Each prompt in it begins a turn, and is a frame at the time of its line, as if a hook had told of it; the last
// frame is the end of the session. The run gets all frames or, with an error, none. Codes: invalid_input if the file is not a conversation
// of the agent; limit_exceeded if it is too large; run_exists if the run is there already.
func (i Import) Run(ctx context.Context, s *timeline.Store) (*Imported, error) {
	file, err := os.Open(i.Path)
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "read the transcript: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fault.New(fault.InvalidInput, "read the transcript: %w", err)
	case !info.Mode().IsRegular():
		return nil, fault.New(fault.InvalidInput, "%s is not a file", i.Shown)
	case info.Size() > maxTranscript:
		return nil, fault.New(fault.LimitExceeded, "%s has more than %d MB", i.Shown, maxTranscript>>20)
	}
	j := &importJob{store: s, speaks: i.Speaks, shown: i.Shown, atMs: info.ModTime().UnixMilli(), fileTime: true}
	name := strings.TrimSuffix(filepath.Base(i.Path), filepath.Ext(i.Path))
	if dialect.IsSessionID(name) {
		j.fileName = name
		if i.Speaks.NamesFiles && (plain.IsUUID(name) || !i.Speaks.UUIDs) {
			j.session = name
		}
	}
	if err := j.findOrigin(ctx, i.Path); err != nil {
		return nil, err
	}
	lines, err := i.unfolded(file)
	if err != nil {
		return nil, err
	}
	err = j.read(ctx, io.LimitReader(lines, maxTranscript), func(done int64) {
		if i.Progress != nil {
			i.Progress(int(done>>10), int(info.Size()>>10))
		}
	})
	if err == nil {
		err = j.finish(ctx)
	}
	if j.series != nil {
		j.series.Close()
	}
	return &j.out, err
}

// unfolded returns the lines of the file: those of a document if it is one.
func (i Import) unfolded(file *os.File) (io.Reader, error) {
	if i.Speaks.Unfold == nil || !strings.EqualFold(filepath.Ext(i.Path), ".json") {
		return file, nil
	}
	text, err := io.ReadAll(io.LimitReader(file, maxTranscript))
	if err != nil {
		return nil, fault.New(fault.InvalidInput, "read the transcript: %w", err)
	}
	if lines := i.Speaks.Unfold(text); lines != nil {
		text = lines
	}
	return bytes.NewReader(text), nil
}

// read takes in all lines of the file. progress is called with the number of bytes that were read.
func (j *importJob) read(ctx context.Context, from io.Reader, progress func(int64)) error {
	in := bufio.NewReaderSize(from, 1<<16)
	var offset int64
	for {
		if err := ctx.Err(); err != nil {
			return timeline.Explain(err)
		}
		text, size, readErr := readLine(in)
		last := errors.Is(readErr, io.EOF) // the last line may lack its line feed
		if readErr != nil && !last {
			return fault.New(fault.InvalidInput, "read the transcript: %w", readErr)
		}
		if size > longestLine {
			j.out.TooLong++
		} else if len(text) > 0 {
			if err := j.take(ctx, text, offset); err != nil {
				return err
			}
		}
		if offset += size; last {
			j.end = offset
			return nil
		}
		progress(offset)
	}
}

// take takes in one line.
func (j *importJob) take(ctx context.Context, text []byte, offset int64) error {
	if session := dialect.Printed(text); session != "" && !j.understood {
		return fault.New(fault.InvalidInput, "%s is what %s prints for programs (stream-json): it has no prompts, and is no transcript", j.shown, j.speaks.Name).
			Hint("import the file that the agent itself keeps of the session %s", session)
	}
	facts := j.speaks.Read(text)
	j.understood = j.understood || facts.Answers || facts.Said != nil || facts.Vendor || facts.Session != ""
	if id := facts.Session; j.session == "" && dialect.IsSessionID(id) && (plain.IsUUID(id) || !j.speaks.UUIDs || j.fileName == "") {
		j.session = id
	}
	if facts.Vendor && facts.Slim == nil {
		return nil
	}
	if facts.Slim != nil {
		text = facts.Slim
	}
	line := dialect.Line{Facts: facts, Offset: offset, Text: text}
	if j.out.Lines++; j.d.mem.isCopy(line) {
		j.hold(line)
		return nil
	}
	heard, _ := j.queue.take(line, queuedIn(line))
	if prompt := promptIn(line); prompt != "" && j.series != nil && j.promptID != "" && j.promptID == messageOf(line) {
		j.prompt = withSaid(j.prompt, prompt)
	} else if prompt != "" {
		if err := j.beginTurn(ctx, line, prompt); err != nil {
			return err
		}
	} else if j.series == nil && j.origin == nil && isModels(line) {
		if err := j.beginMiddle(ctx, line); err != nil {
			return err
		}
	}
	if j.series != nil {
		for _, text := range append(besideOf(line), heard) {
			j.prompt = withSaid(j.prompt, text)
		}
	}
	return j.keep(line)
}

// isModels reports whether a line is of the session's model: what it says, calls or uses.
func isModels(line dialect.Line) bool {
	says := func(s dialect.Saying) bool { return s.Role == dialect.Assistant }
	return !line.Aside && (len(line.Begun) > 0 || line.Usage != dialect.Usage{} || slices.ContainsFunc(line.Said, says))
}

// promptIn returns the prompt in a line, or "" if the line is no prompt.
func promptIn(line dialect.Line) string {
	var texts []string
	for _, said := range line.Said {
		if said.Role == dialect.User && !line.Aside && !said.Beside && !said.Local {
			texts = append(texts, said.Text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, betweenTexts))
}

// refuseOther returns the error for a file that is not a conversation of the agent.
func (j *importJob) refuseOther() error {
	what := "has neither a prompt of a user nor an answer"
	switch {
	case !j.understood:
		what = "is not a transcript of " + j.speaks.Name
	case j.origin != nil:
		what = "has only what run " + j.origin.entry.Run + " has, too"
	}
	return fault.New(fault.InvalidInput, "%s %s", j.shown, what).Hint("nothing was imported from it")
}

// explainExists returns err with hints for an import, if it is run_exists.
func explainExists(run string, err error) error {
	if fault.CodeOf(err) != fault.RunExists {
		return err
	}
	return fault.New(fault.RunExists, "run %q exists already, and stays as it is", run).
		Hint("`%s show %s` shows it", fault.Program, fault.Word(run)).Detail("runId", run)
}

// startRun begins the run. row is complete but for what the first frame sets.
func (j *importJob) startRun(ctx context.Context) error {
	if j.session == "" {
		j.session = j.fileName
	}
	if j.session == "" {
		return fault.New(fault.InvalidInput, "neither the name of %s nor its lines name a session", j.shown).
			Hint("name the file for the session: SESSION.jsonl")
	}
	j.out.Session, j.out.Run = j.session, Run(j.speaks.Name, j.session)
	at := j.atMs
	row := snapshot.Run{ID: j.out.Run, Workflow: j.speaks.Name, Status: snapshot.RunRunning, CreatedAtMs: at, StartedAtMs: &at}
	mem := newMemory(j.speaks.Name, j.session)
	mem.BeganMs = j.d.mem.BeganMs
	var err error
	if j.origin == nil {
		j.series, err = timeline.NewSeries(ctx, j.store, row, nil)
	} else if j.series, err = j.origin.series(ctx, j.store, j.session, row, nil); err == nil {
		j.origin.enter(mem)
		j.out.Frames++
		row, err = j.series.Entry().RunRow()
	}
	if err != nil {
		return explainExists(row.ID, err)
	}
	j.d = drafter{speaks: j.speaks, mem: mem, calls: make(map[string]snapshot.ToolCall)}
	j.d.out.Frame = new(snapshot.FrameDraft)
	j.book = j.store.Secrets(row)
	return nil
}

// findOrigin finds the session from which the agent has forked the one in the file at path. Without it, lines that are copies by what the file says are not
// counted either.
func (j *importJob) findOrigin(ctx context.Context, path string) error {
	j.d.mem = new(memory)
	file, err := readForked(path, j.speaks, true)
	if err != nil || file == nil {
		return err
	}
	if j.origin, err = file.origin(ctx, j.store, j.speaks.Name, Run(j.speaks.Name, cmp.Or(j.session, file.session, j.fileName))); j.origin != nil {
		j.d.mem.CopiedTo = j.origin.copied
	}
	return err
}

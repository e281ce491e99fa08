// Package agenttrace writes records of Agent Trace (agent-trace.dev), version 0.1.0: who wrote the lines that a commit has brought, in a form that
// other tools read.
package agenttrace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/git-smithers/git-smithers/internal/app/blame"
	"github.com/git-smithers/git-smithers/internal/list"
	"github.com/git-smithers/git-smithers/internal/peer/agent"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Version is the version of Agent Trace.
const Version = "0.1.0"

// Record is a trace record: the lines that are new in a commit.
type Record struct {
	Version   string         `json:"version"`
	ID        string         `json:"id"`        // a UUID that follows from the commit
	Timestamp string         `json:"timestamp"` // when the record was made
	VCS       VCS            `json:"vcs"`
	Tool      Tool           `json:"tool"`
	Files     []File         `json:"files"` // sorted by path; never nil
	Metadata  map[string]any `json:"metadata,omitempty"`
}

// VCS names the commit. With jj, Revision is the id of the change.
type VCS struct {
	Type     string `json:"type"`
	Revision string `json:"revision"`
}

// Tool is the program that made the record.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// File is a file with new lines.
type File struct {
	Path          string         `json:"path"`
	Conversations []Conversation `json:"conversations"`
}

// Conversation is a frame that has written lines, or the commit itself.
type Conversation struct {
	URL         string      `json:"url,omitempty"` // of the frame; see Address
	Contributor Contributor `json:"contributor"`
	Ranges      []Range     `json:"ranges"`
	Related     []Related   `json:"related,omitempty"`
}

// Contributor is the kind of writer: ai, human, mixed or unknown.
type Contributor struct {
	Type    string `json:"type"`
	ModelID string `json:"model_id,omitempty"`
}

// Range is lines of the file at the commit.
type Range struct {
	StartLine   int    `json:"start_line"`
	EndLine     int    `json:"end_line"`
	ContentHash string `json:"content_hash"` // sha256 of the lines, each with a line feed
}

// Related is a session or a run, a prompt, a tool call or an attempt.
type Related struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// metadataName is the name of our own metadata.
const metadataName = "com.github.git-smithers"

// maxFile is the size in bytes of the largest file whose lines have writers.
const maxFile = 1 << 20

// Address returns an address of this repository, such as run:3 or run@turn:2, as a URI without a host: smithers:run:3.
func Address(text string) string { return "smithers:" + url.PathEscape(text) }

// Of returns the record of a commit, any revision of git or jj. Files that are binary, above 1 MiB, or no regular files have no lines. Code:
// usage if there is no such commit.
func Of(ctx context.Context, s *timeline.Store, revision string) (*Record, error) {
	commit, err := jjbridge.ResolveCommit(ctx, s.Workspace(), revision)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	if commit == "" {
		return nil, fault.New(fault.Usage, "%q is not a commit", revision).Hint("name a branch, a tag or a revision such as HEAD~2")
	}
	out := &Record{
		Version: Version, ID: uuidOf(commit), Timestamp: s.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		VCS: VCS{snapshot.VCSGit, commit}, Tool: Tool{"git-smithers", programVersion()}, Files: []File{},
	}
	if s.Workspace().Type == snapshot.VCSJJ {
		change, err := s.Workspace().JJChangeAt(ctx, commit)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		if change != nil {
			out.VCS = VCS{snapshot.VCSJJ, change.Change}
			out.Metadata = map[string]any{metadataName: map[string]string{"commit": commit}}
		}
	}
	t := tracer{s: s, reader: blame.NewReader(s), commit: commit}
	out.Files, err = t.files(ctx)
	return out, timeline.Explain(err)
}

// uuidOf returns a UUID of version 8 that follows from a commit.
func uuidOf(commit string) string {
	sum := sha256.Sum256([]byte("agent-trace " + Version + " " + commit))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// programVersion returns the version of the program, or "devel".
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return strings.Trim(info.Main.Version, "()")
	}
	return "devel"
}

// tracer makes the files of a record.
type tracer struct {
	s      *timeline.Store
	reader *blame.Reader
	commit string
	byHand *string // the type of the lines that no frame has written; nil until it is known
}

// files returns the files that have new lines, sorted by path.
func (t *tracer) files(ctx context.Context) ([]File, error) {
	out, err := t.s.Workspace().RunGit(ctx, "diff-tree", "-r", "-c", "--root", "--no-commit-id", "--name-only", "--no-renames", "-z", t.commit)
	if err != nil {
		return nil, err
	}
	tree, _, err := jjbridge.ReadCommit(t.s.Objects(), t.commit)
	if err != nil {
		return nil, err
	}
	files := []File{}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		at, err := jjbridge.FileAt(t.s.Objects(), tree, path)
		if err != nil {
			return nil, err
		}
		if path == "" || at.Mode != objstore.ModeFile && at.Mode != objstore.ModeExecutable || !t.isText(at.ID) {
			continue
		}
		file, err := t.reader.File(ctx, blame.Query{Path: path, Revision: t.commit, Own: true})
		if err != nil {
			return nil, err
		}
		conversations, err := t.conversations(file)
		if err != nil {
			return nil, err
		}
		if !utf8.ValidString(path) {
			path = snapshot.EscapePath(path)
		}
		if len(conversations) > 0 {
			files = append(files, File{path, conversations})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// isText reports whether a file has lines, and is small enough.
func (t *tracer) isText(id objstore.ID) bool {
	data, err := objstore.GetBlob(t.s.Objects(), id, maxFile)
	return err == nil && bytes.IndexByte(data[:min(len(data), 8000)], 0) < 0 // as git decides
}

// conversations returns the writers of a file's new lines, in the order of their first lines.
func (t *tracer) conversations(file *blame.File) (out []Conversation, err error) {
	at := make(map[*blame.Writer]int)
	for _, r := range file.Ranges {
		i, ok := at[r.Writer]
		if !ok {
			one, err := t.conversation(r.Writer)
			if err != nil {
				return nil, err
			}
			i = len(out)
			at[r.Writer], out = i, append(out, *one)
		}
		sum := sha256.Sum256([]byte(strings.Join(r.Text, "\n") + "\n"))
		ranges := &out[i].Ranges
		*ranges = append(*ranges, Range{r.Start, r.End, "sha256:" + hex.EncodeToString(sum[:])})
	}
	return out, nil
}

// conversation returns a writer without its lines.
func (t *tracer) conversation(w *blame.Writer) (*Conversation, error) {
	c := &Conversation{Contributor: Contributor{Type: "unknown"}}
	switch {
	case w.Kind == blame.Commit && len(w.NotHere) > 0:
		c.URL = Address(w.NotHere[0])
		return c, nil
	case w.Kind == blame.Commit:
		kind, err := t.kindByHand()
		c.Contributor.Type = kind
		return c, err
	case w.Kind == blame.Start:
		return c, nil
	}
	c.URL = Address(w.Address().String())
	c.Related = []Related{{"run", Address(w.Run)}}
	if w.Turn > 0 {
		c.Related = []Related{{"session", Address(w.Run)}, {"prompt", Address(w.Run + "@" + agent.TurnID(w.Turn))}}
		c.Contributor.ModelID = modelID(w.Agent, w.Model)
	}
	for _, call := range w.Calls {
		c.Related = append(c.Related, Related{"tool-call", Address(w.Run + "@" + call.ID)})
	}
	if w.Turn > 0 || w.UsedTools {
		c.Contributor.Type = "ai"
	}
	return c, nil
}

// kindByHand returns the type of lines that the commit has and no frame: mixed if the commit has landed frames, whose lines somebody has changed; unknown
// if an agent is its co-author; and otherwise human.
func (t *tracer) kindByHand() (string, error) {
	if t.byHand != nil {
		return *t.byHand, nil
	}
	id, err := objstore.ParseID(t.commit)
	if err != nil {
		return "", err
	}
	data, err := objstore.GetKind(t.s.Objects(), id, objstore.Commit)
	if err != nil {
		return "", err
	}
	_, message, _ := strings.Cut(string(data), "\n\n")
	kind := "human"
	for _, name := range dialect.Names() {
		if by := dialect.For(name).CoAuthor; by != "" && strings.Contains(message, by) {
			kind = "unknown"
		}
	}
	if len(list.LandedFrames(message)) > 0 {
		kind = "mixed"
	}
	t.byHand = &kind
	return kind, nil
}

// providers are the first parts of the names of agents' models in the convention of models.dev.
var providers = map[string]string{"claude": "anthropic/", "codex": "openai/", "gemini": "google/"}

// modelID returns the id of a model, or "" if its provider is unknown.
func modelID(agent, model string) string {
	if model == "" || strings.Contains(model, "/") {
		return cut(model)
	}
	if provider := providers[agent]; provider != "" {
		return cut(provider + model)
	}
	return ""
}

// cut returns a text of at most 250 characters, or "" if it is longer.
func cut(text string) string {
	if utf8.RuneCountInString(text) > 250 {
		return ""
	}
	return text
}

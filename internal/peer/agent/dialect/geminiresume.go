package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/lazyregexp"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// resumeGemini is Resume of Gemini CLI. The option --session-file would read a file from anywhere, but it gives the session an id of
// its own, by which no hook would find the fork. So the file goes to where --resume looks for it.
func resumeGemini(c Course) (Resumed, error) {
	if !hasGeminiTalk(c.Lines) { // --resume refuses such a session
		return Resumed{Command: withGeminiPrompt(c.Prompt, Gemini, "--session-id", c.Session)}, nil
	}
	home, err := geminiHome.folder(c.Env, "Gemini CLI")
	if err != nil {
		return Resumed{}, err
	}
	home = filepath.Join(home, ".gemini")
	slug, err := geminiSlug(home, c.Dir, c.Session)
	if err != nil {
		return Resumed{}, fault.New(fault.WriteFailed, "find Gemini CLI's folder of %s: %w", c.Dir, err)
	}
	text := geminiText(c)
	name := "session-" + time.UnixMilli(c.AtMs).UTC().Format("2006-01-02T15-04") + "-" + shortID(c.Session) + ".jsonl"
	out := Resumed{
		File: filepath.Join(home, "tmp", slug, "chats", name), Size: int64(len(text)),
		Command: withGeminiPrompt(c.Prompt, Gemini, "--resume", c.Session),
	}
	return out, writeConversation(out.File, text)
}

// withGeminiPrompt returns a command that begins with the prompt, if there is one, and goes on with the user. A prompt can begin with
// a hyphen, or be the name of a subcommand.
func withGeminiPrompt(prompt string, command ...string) []string {
	if prompt != "" {
		command = append(command, "--prompt-interactive="+prompt)
	}
	return command
}

// shortID returns the part of a session's id by which Gemini CLI names files.
func shortID(session string) string { return session[:min(8, len(session))] }

// geminiText returns the file of the new session: a header, the rewritten lines, and the time. Gemini CLI deletes sessions by their
// time, so an old one must not stay. A message that only repeats results is left out, because Gemini CLI would send the results twice.
func geminiText(c Course) []byte {
	now := time.UnixMilli(c.AtMs).UTC().Format("2006-01-02T15:04:05.000Z")
	hash := sha256.Sum256([]byte(c.Dir))
	out := append(encodeTree(map[string]any{
		"sessionId": c.Session, "projectHash": hex.EncodeToString(hash[:]), "startTime": now, "lastUpdated": now, "kind": "main",
	}), '\n')
	ended := make(map[string]bool)
	for _, l := range c.Lines {
		for _, r := range l.Ended {
			ended[r.ID] = true
		}
		if !l.Header && !repeatsResults(l.Text, ended) {
			out = append(append(out, c.rewrite(l.Text)...), '\n')
		}
	}
	return append(append(out, encodeTree(map[string]any{"$set": map[string]any{"lastUpdated": now}})...), '\n')
}

// repeatsResults reports whether a line is a message that has nothing but results of calls that have ended.
func repeatsResults(line []byte, ended map[string]bool) bool {
	var m geminiMessage
	if json.Unmarshal(line, &m) != nil || m.Type != "user" {
		return false
	}
	parts := m.parts()
	other := func(p geminiPart) bool { return p.Response == nil || !ended[p.Response.ID] }
	return len(parts) > 0 && !slices.ContainsFunc(parts, other)
}

// hasGeminiTalk reports whether Gemini CLI finds anything to go on with in lines. It reads the records as Gemini CLI does.
func hasGeminiTalk(lines []Line) bool {
	var ids []string // of the messages so far
	add := func(m geminiMessage) {
		if (m.Type == Gemini || m.Type == "user" && !m.isContext()) && !slices.Contains(ids, m.ID) {
			ids = append(ids, m.ID)
		}
	}
	for _, l := range lines {
		var r geminiRecord
		if json.Unmarshal(l.Text, &r) != nil {
			continue
		}
		switch {
		case r.Rewind != nil:
			ids = ids[:max(0, slices.Index(ids, *r.Rewind))]
		case r.Set != nil && r.Set.Messages != nil:
			ids = nil
			for _, m := range r.Set.Messages {
				add(m)
			}
		case r.ID != "":
			add(r.geminiMessage)
		}
	}
	return len(ids) > 0
}

// geminiRoot is the file in a project's folder that names the project. By it, Gemini CLI finds the folder of a project that its
// registry does not have, and adds the project to the registry.
const geminiRoot = ".project_root"

// geminiSlug returns the name of Gemini CLI's folder of a project, as Gemini CLI looks for it: in the registry, by the files in
// the folders, and otherwise a new one. The registry itself is left to Gemini CLI, which locks it.
func geminiSlug(home, dir, session string) (string, error) {
	var registry struct{ Projects map[string]string }
	data, err := os.ReadFile(filepath.Join(home, "projects.json"))
	if err == nil {
		_ = json.Unmarshal(data, &registry) // Gemini CLI makes a broken registry anew
	}
	slug, known := registry.Projects[dir]
	if known && ownsSlug(home, slug, dir) {
		return slug, nil
	}
	for _, base := range geminiBases(home) {
		entries, _ := os.ReadDir(base) // Gemini CLI has not made it yet
		for _, entry := range entries {
			if of, err := os.ReadFile(filepath.Join(base, entry.Name(), geminiRoot)); err == nil && strings.TrimSpace(string(of)) == dir {
				return entry.Name(), nil
			}
		}
	}
	return newGeminiSlug(home, dir, session)
}

// geminiBases returns the folders in which a project has a folder.
func geminiBases(home string) []string {
	return []string{filepath.Join(home, "tmp"), filepath.Join(home, "history")}
}

// ownsSlug reports whether no other project has the folders with the name.
func ownsSlug(home, slug, dir string) bool {
	for _, base := range geminiBases(home) {
		of, err := os.ReadFile(filepath.Join(base, slug, geminiRoot))
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(of)) != dir {
			return false
		}
	}
	return geminiSlugs.MatchString(slug)
}

// geminiSlugs matches the names of projects' folders.
var geminiSlugs = lazyregexp.New(`^[a-z0-9-]+$`)

// noSlug matches what Gemini CLI replaces in the name of a project's folder.
var noSlug = lazyregexp.New(`[^a-z0-9]+`)

// newGeminiSlug makes the folder of a project that has none. The id of the session is in the name, so that no other project has it.
func newGeminiSlug(home, dir, session string) (string, error) {
	slug := strings.Trim(noSlug.ReplaceAllString(strings.ToLower(filepath.Base(dir)+"-"+shortID(session)), "-"), "-")
	for _, base := range geminiBases(home) {
		folder := filepath.Join(base, slug)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return "", err
		}
		root, err := os.OpenFile(filepath.Join(folder, geminiRoot), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return "", fmt.Errorf("name the project: %w", err)
		}
		_, err = root.WriteString(dir)
		if err = errors.Join(err, root.Close()); err != nil {
			return "", err
		}
	}
	return slug, nil
}

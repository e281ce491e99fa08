// Package hooks puts the hooks of git-smithers into the settings of coding agents, and takes them out again. It runs no agent.
package hooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/git-smithers/git-smithers/internal/consent"
	"github.com/git-smithers/git-smithers/internal/fsx"
	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// hookMark is in the command of each hook of ours, and in no other.
const hookMark = "git-smithers session hook "

// hookCommand returns the shell command of a hook. Where git-smithers is not installed, or does not know session hook, it does
// nothing and succeeds.
func (s Setup) hookCommand(event string) string {
	if s.User != "" {
		event += " --user"
	}
	return fmt.Sprintf("command -v git-smithers >/dev/null 2>&1 && %s%s %s >/dev/null 2>&1 || exit 0", hookMark, s.Agent.Name, event)
}

// Paste returns the hooks that a person adds to the settings of an agent in TOML.
func Paste(agent *dialect.Dialect) string {
	var out strings.Builder
	for _, event := range agent.Pasted.Events {
		command := Setup{Agent: agent, User: agent.Pasted.File}.hookCommand(event)
		fmt.Fprintf(&out, "[[hooks]]\nevent = %q\ncommand = '%s'\ntimeout = %d\n\n", event, command, dialect.HookSeconds)
	}
	return out.String()
}

// Setup adds the hooks of git-smithers to the settings of an agent, and removes them again.
type Setup struct {
	Agent   *dialect.Dialect // with Hooks
	Root    string           // the top of the working copy; "" with User
	Top     string           // the top of the linked worktree, if Root is that of the main checkout; otherwise it may be ""
	User    string           // the path of the user's settings for all projects; "" for settings of the working copy
	Shared  bool             // the settings that the project shares, instead of the user's own for the project
	Private string           // the store's private folder
	NowMs   int64            // milliseconds since 1970
	GitDir  string           // git's common folder, whose info/exclude gets the files that are for this clone alone; "" for none
}

// ForUser returns the setup of the user's own settings of an agent, for all projects. Code: usage if the environment names no home folder.
func ForUser(agent *dialect.Dialect, env []string, nowMs int64) (Setup, error) {
	folder, _ := gitexec.LookupEnv(env, agent.Hooks.User.Variable)
	if !filepath.IsAbs(folder) {
		home, _ := gitexec.LookupEnv(env, "HOME")
		folder = filepath.Join(home, filepath.FromSlash(agent.Hooks.User.Folder))
	}
	if !filepath.IsAbs(folder) {
		return Setup{}, fault.New(fault.Usage, "HOME is not set, so the folder of %s is unknown", agent.Name)
	}
	private, err := consent.StateFolder(env)
	return Setup{Agent: agent, User: filepath.Join(folder, filepath.FromSlash(agent.Hooks.User.Name)), Private: private, NowMs: nowMs}, err
}

// Written returns when Enable wrote the hooks, in milliseconds since 1970, or 0 if that is unknown.
func (s Setup) Written() int64 {
	former, _ := s.readUndo()
	return former.AtMs
}

// File returns the path of the settings: relative to the top of the working copy or, for the user's own, from the root.
func (s Setup) File() string {
	if s.User != "" {
		return s.User
	}
	if s.Shared {
		return filepath.FromSlash(s.Agent.Hooks.Shared)
	}
	return filepath.FromSlash(s.Agent.Hooks.File)
}

// settingsDir is the folder in the store's private folder for what the settings were.
const settingsDir = "sessions"

// undo is what Setup keeps for Disable: what the settings were.
type undo struct {
	Before *[]byte  `json:"before"` // nil if there was no file
	After  string   `json:"after"`  // the SHA-256 of the settings with the hooks
	AtMs   int64    `json:"atMs"`   // when Enable wrote them, in milliseconds since 1970
	Made   []string `json:"made"`   // folders that were made, deepest first, relative to the top of the working copy
}

// InPlace returns the events that have a hook of ours in the settings, and all events that should have one.
func (s Setup) InPlace() (have, want []string, err error) {
	if s.Agent.Hooks.Program != "" {
		return s.programInPlace()
	}
	settings, _, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	for _, event := range s.Agent.Hooks.Events {
		if hasHook(settings, s.Agent.Name, event) {
			have = append(have, event)
		}
	}
	return have, s.Agent.Hooks.Events, nil
}

// Enable adds the hooks that are missing, and reports whether it changed the settings. What is in the settings stays, with its
// order and its comments. The file must be JSON, with comments or without: otherwise the error is invalid_input, and nothing is
// changed.
func (s Setup) Enable() (bool, error) {
	if err := s.CheckPlace(); err != nil {
		return false, err
	}
	if s.Agent.Hooks.Program != "" {
		return s.enableProgram()
	}
	settings, before, err := s.read()
	if err != nil {
		return false, err
	}
	if err := s.checkHidden(before); err != nil {
		return false, err
	}
	changed := false
	if hasForeign(settings, s.Agent.Name) {
		if changed, err = removeHooks(settings, allEvents(settings)); err != nil {
			return false, s.notSettings(err)
		}
	}
	for _, event := range s.Agent.Hooks.Events {
		if hasHook(settings, s.Agent.Name, event) {
			continue
		}
		if err := addHook(settings, event, s.Agent.Hooks.Entry(event, s.hookCommand(event))); err != nil {
			return false, s.notSettings(err)
		}
		changed = true
	}
	if !changed {
		return false, nil
	}
	if version := s.Agent.Hooks.Version; version != 0 && settings.Find("/version") == nil {
		if err := patch(settings, "add", "/version", version); err != nil {
			return false, s.notSettings(err)
		}
	}
	return true, s.write(before, withMark(before, indentLike(before, settings.Pack())))
}

// Disable removes the hooks of ours, and reports whether there were any. If nobody has changed the settings since Enable, they
// are byte for byte what they were before, and files and folders that Enable made are gone.
func (s Setup) Disable() (bool, error) {
	if err := s.CheckPlace(); err != nil {
		return false, err
	}
	if s.Agent.Hooks.Program != "" {
		return s.disableProgram()
	}
	settings, now, err := s.read()
	if err != nil {
		return false, err
	}
	if former, err := s.readUndo(); err == nil && former.After == digest(now) {
		return true, errors.Join(s.restore(former), os.Remove(s.undoPath()))
	}
	removed, err := removeHooks(settings, allEvents(settings))
	if err != nil {
		return false, s.notSettings(err)
	}
	if !removed {
		return false, nil
	}
	if err := s.replace(withMark(now, settings.Pack())); err != nil {
		return false, err
	}
	return true, errors.Join(s.forget(), s.include())
}

// byteOrderMark is the mark with which some editors begin a file in UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// withMark returns settings with the byte order mark that they had before.
func withMark(before, settings []byte) []byte {
	if bytes.HasPrefix(before, byteOrderMark) {
		return append(bytes.Clone(byteOrderMark), settings...)
	}
	return settings
}

// Unheard says for people why the agent may not hear the hooks that are in place, or returns nil.
func (s Setup) Unheard() []string {
	var why []string
	of, file := s.Agent.Hooks, filepath.ToSlash(s.File())
	if data, err := os.ReadFile(s.path()); err == nil && of.Strict && !json.Valid(bytes.TrimPrefix(data, byteOrderMark)) {
		why = append(why, fmt.Sprintf("%s does not read %s, because the file has comments or trailing commas: nothing is recorded until they are out", s.Agent.Name, file))
	}
	if s.User == "" && (s.Shared && of.SharedAtTop || !s.Shared && of.OwnAtTop) {
		why = append(why, fmt.Sprintf("%s reads %s only if it starts at the top of the working copy; hooks of `%s` are heard everywhere",
			s.Agent.Name, file, fault.CommandLine(fault.Program+" session", "enable", s.Agent.Name, "--user")))
	}
	return why
}

// forget removes what Setup keeps for Disable.
func (s Setup) forget() error {
	if err := os.Remove(s.undoPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the former settings: %w", err)
	}
	return nil
}

// maxNested is the number of lists and objects in the largest settings. The parser nests calls as the text nests them, and a repository
// can bring any file.
const maxNested = 100_000

// read returns the settings and their bytes. Without a file, the bytes are nil, and the settings are an empty object.
func (s Setup) read() (*hujson.Value, []byte, error) {
	data, err := os.ReadFile(s.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fault.New(fault.InvalidInput, "the settings of %s: %w", s.Agent.Name, err)
	}
	text := bytes.TrimPrefix(data, byteOrderMark)
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxNested {
		return nil, nil, s.notSettings(errors.New("the file has too many lists and objects"))
	}
	settings, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, nil, s.notSettings(err)
	}
	if _, ok := settings.Value.(*hujson.Object); !ok {
		return nil, nil, s.notSettings(errors.New("not a JSON object"))
	}
	return &settings, data, nil
}

// notSettings returns the error for settings that cannot be edited.
func (s Setup) notSettings(err error) error {
	return fault.New(fault.InvalidInput, "%s cannot be edited: %w", filepath.ToSlash(s.File()), err).
		Hint("mend or move the file; it was not changed")
}

// path returns the path of the settings. If the file is a symbolic link, it is the path of the link's target.
func (s Setup) path() string {
	path := filepath.Join(s.Root, s.File())
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// CheckPlace returns invalid_input if a symbolic link puts the settings outside of the working copy, or leads nowhere: a repository must not decide which other
// files of the user are written, and hooks in settings of all repositories would record them all.
func (s Setup) CheckPlace() error {
	if s.User != "" {
		return nil // no repository decides where it is
	}
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil {
		return fault.New(fault.InvalidInput, "the working copy: %w", err)
	}
	for at := filepath.Join(s.Root, s.File()); len(at) > len(s.Root); at = filepath.Dir(at) {
		target, err := filepath.EvalSymlinks(at)
		if err != nil {
			if _, err := os.Lstat(at); err == nil {
				return fault.New(fault.InvalidInput, "%s cannot be written: %s is a link that leads nowhere", filepath.ToSlash(s.File()), at).
					Hint("remove the link, or make its target; nothing was changed")
			}
			continue // it does not exist yet
		}
		if !strings.HasPrefix(target+string(filepath.Separator), root+string(filepath.Separator)) {
			return fault.New(fault.InvalidInput, "%s is outside of the working copy: a link leads to %s", filepath.ToSlash(s.File()), target).
				Hint("replace the link by a file or folder of its own; nothing was changed")
		}
		return nil
	}
	return nil
}

// checkHidden returns invalid_input if a new file of settings would hide hooks of the user's. before is the file as it is now.
func (s Setup) checkHidden(before []byte) error {
	if before != nil {
		return nil
	}
	for _, name := range s.Agent.Hooks.Hides {
		hidden := filepath.Join(filepath.Dir(s.path()), filepath.FromSlash(name))
		if text, err := os.ReadFile(hidden); err == nil && bytes.Contains(text, []byte(`"hooks"`)) {
			return fault.New(fault.InvalidInput, "%s would not read the hooks in %s any more", s.Agent.Name, hidden).
				Hint("move its member hooks into a file %s of this form: {\"hooks\": {…}}; nothing was changed", filepath.ToSlash(s.File()))
		}
	}
	return nil
}

// undoPath returns the path of what Setup keeps for Disable.
func (s Setup) undoPath() string {
	sum := sha256.Sum256([]byte(s.path()))
	return filepath.Join(s.Private, settingsDir, "settings-"+hex.EncodeToString(sum[:8])+".json")
}

// write keeps before for Disable, and then replaces the settings.
func (s Setup) write(before, after []byte) error {
	keep := undo{After: digest(after), AtMs: s.NowMs}
	earlier, err := s.readUndo()
	switch {
	case err == nil && earlier.After == digest(before):
		keep.Before, keep.Made = earlier.Before, earlier.Made
	case bytes.Contains(before, []byte(hookMark)):
		// Somebody has edited the hooks of ours. Disable must not put these settings back.
		return s.replace(after)
	case before != nil:
		keep.Before = &before
	}
	for dir := filepath.Dir(s.File()); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(s.Root, dir)); errors.Is(err, fs.ErrNotExist) {
			keep.Made = append(keep.Made, dir)
		}
	}
	data, err := json.Marshal(keep)
	if err != nil {
		return fmt.Errorf("keep the former settings: %w", err)
	}
	if err := fsx.Replace(s.undoPath(), data, 0o600); err != nil {
		return fault.New(fault.WriteFailed, "keep the former settings: %w", err)
	}
	if keep.Before == nil {
		if err := s.exclude(); err != nil {
			return err
		}
	}
	return s.replace(after)
}

// replace replaces the settings. The file keeps its permissions.
func (s Setup) replace(data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(s.path()); err == nil {
		mode = info.Mode().Perm()
	}
	if err := fsx.Replace(s.path(), data, mode); err != nil {
		return fault.New(fault.WriteFailed, "write the settings of %s: %w", s.Agent.Name, err)
	}
	return nil
}

// readUndo returns what Setup keeps for Disable.
func (s Setup) readUndo() (undo, error) {
	var u undo
	data, err := os.ReadFile(s.undoPath())
	if err == nil {
		err = json.Unmarshal(data, &u)
	}
	if err != nil {
		return undo{}, fmt.Errorf("the former settings: %w", err)
	}
	return u, nil
}

// restore puts the settings back.
func (s Setup) restore(u undo) error {
	if u.Before != nil {
		return s.replace(*u.Before)
	}
	if err := os.Remove(s.path()); err != nil {
		return fmt.Errorf("remove the settings: %w", err)
	}
	if err := s.include(); err != nil {
		return err
	}
	for _, dir := range u.Made {
		_ = os.Remove(filepath.Join(s.Root, dir)) // a folder with other files stays
	}
	return nil
}

// digest returns the SHA-256 of data in hex.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/internal/plain"
)

const (
	// sessionsDir is the folder in the store's private folder for what this machine knows of agents.
	sessionsDir = "sessions"
	logName     = "hooks.jsonl"
	// maxLog is the size above which the log becomes the older log, in bytes.
	maxLog = 256 << 10
	// maxLogText is the size of the longest text in an entry of the log, in bytes.
	maxLogText = 4 << 10
)

// LogEntry is the result of one call of a hook.
type LogEntry struct {
	AtMs    int64  `json:"atMs"` // in milliseconds since 1970
	Agent   string `json:"agent"`
	Event   string `json:"event"`
	Session string `json:"session,omitempty"`
	TookMs  int64  `json:"tookMs"`
	Frame   bool   `json:"frame"` // a frame was appended
	Warning string `json:"warning,omitempty"`
	Error   string `json:"error,omitempty"`
	Code    string `json:"code,omitempty"` // of Error
}

// appendLog adds an entry to the log of hooks in the store's private folder. The log is not part of the history.
func appendLog(private string, entry LogEntry) (err error) {
	dir := filepath.Join(private, sessionsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the log of hooks: %w", err)
	}
	path := filepath.Join(dir, logName)
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil {
			return fmt.Errorf("the log of hooks: %w", err)
		}
	}
	for _, text := range []*string{&entry.Agent, &entry.Event, &entry.Warning, &entry.Error} {
		*text = plain.Cut(*text, maxLogText) // an error can name what an agent has handed in
	}
	data, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("the log of hooks: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the log of hooks: %w", err)
	}
	_, err = file.Write(append(data, '\n'))
	return errors.Join(err, file.Close())
}

// Log returns the newest calls of hooks, oldest first: a few thousand at most. private is the store's private folder. Log
// skips lines that are not entries.
func Log(private string) ([]LogEntry, error) {
	var entries []LogEntry
	for _, name := range []string{logName + ".1", logName} {
		data, err := os.ReadFile(filepath.Join(private, sessionsDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the log of hooks: %w", err)
		}
		for text := range bytes.Lines(data) {
			var entry LogEntry
			if json.Unmarshal(text, &entry) == nil {
				entries = append(entries, entry)
			}
		}
	}
	return entries, nil
}

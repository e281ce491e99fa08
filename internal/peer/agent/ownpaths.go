package agent

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/timeline"
)

// pathArguments are the arguments of tools that name a file, and patchedFile begins a line that names a file in a patch of Codex.
var (
	pathArguments = []string{"file_path", "filePath", "path", "notebook_path", "absolute_path"}
	patchedFile   = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}
)

// OwnPaths returns a function that reports whether a call of the session up to the entry names a file as one that it
// changes. A path is relative to root, the top of the session's working copy. What commands of a shell change is not known.
// Code: invalid_input if the run is not a session.
func OwnPaths(at *timeline.LoadedEntry, root string) (func(path string) bool, error) {
	own, err := namedFiles(at, root)
	return func(path string) bool { return own[path] }, err
}

// namedFiles returns the paths that calls of the session name, and whether one of the calls may have changed the file: see OwnPaths. Without a root,
// absolute paths stay.
func namedFiles(at *timeline.LoadedEntry, root string) (map[string]bool, error) {
	mem, _, err := sessionAt(at)
	if err != nil {
		return nil, err
	}
	own := make(map[string]bool)
	for call, err := range at.Entry.AllToolCalls() {
		if err != nil {
			return nil, timeline.Explain(err)
		}
		asked, err := askedFor(at.Entry, mem.Agent, call)
		if err != nil {
			return nil, err
		}
		for _, path := range namedPaths(asked.Input) {
			if root != "" && filepath.IsAbs(path) {
				if path, err = filepath.Rel(root, path); err != nil {
					continue
				}
			}
			path = filepath.ToSlash(filepath.Clean(path))
			own[path] = !asked.ReadOnly || own[path]
		}
	}
	return own, nil
}

// namedPaths returns the paths that the arguments of a call name, as they name them.
func namedPaths(input json.RawMessage) (paths []string) {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(input, &text) != nil && json.Unmarshal(input, &members) != nil {
		return nil
	}
	for _, name := range pathArguments {
		var path string
		if json.Unmarshal(members[name], &path) == nil && path != "" {
			paths = append(paths, path)
		}
	}
	if members["input"] != nil {
		_ = json.Unmarshal(members["input"], &text) // of another form, it is no patch
	}
	for line := range strings.Lines(text) {
		for _, begin := range patchedFile {
			if path, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), begin); ok {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

package jjbridge

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// workspacesTemplate prints a commit that is the working copy of workspaces: their names
// with an @ after each, nothing where the repository has only one, and what
// WorkspaceInfo has, each with a NUL behind it. It is jj log that prints it: the options
// and the format of jj workspace list differ from version to version.
const workspacesTemplate = `working_copies ++ "\0" ++ commit_id ++ "\0" ++ change_id ++ "\0" ++ local_bookmarks.map(|b| b.name()).join("\n") ++ "\0"`

// jjWorkspaces lists jj's workspaces.
func (w *Workspace) jjWorkspaces(ctx context.Context) ([]WorkspaceInfo, error) {
	out, _, err := w.jj(ctx, "log", "--ignore-working-copy", "--no-graph", "--revisions=working_copies()", "--template="+workspacesTemplate)
	if err != nil {
		return nil, err
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(fields)%4 != 0 {
		return nil, fmt.Errorf("%w: unexpected answer %q", ErrJJTooOld, out)
	}
	paths := w.workspacePaths()
	var list []WorkspaceInfo
	for ; len(fields) > 0; fields = fields[4:] {
		names := workspaceNames(fields[0])
		if len(names) == 0 {
			names = []string{w.Name}
		}
		bookmark, _, _ := strings.Cut(fields[3], "\n")
		for _, name := range names {
			info := WorkspaceInfo{Name: name, Path: paths[name], CommitID: fields[1], ChangeID: fields[2], Branch: bookmark}
			info.Missing = info.Path != "" && isGone(info.Path)
			list = append(list, info)
		}
	}
	sortWorkspaces(list, w.main)
	return list, nil
}

// workspaceNames reads names with an @ after each and a space between them. A name that
// is no symbol in jj's revsets is quoted.
func workspaceNames(s string) []string {
	var names []string
	for s != "" {
		var name string
		if quoted, err := strconv.QuotedPrefix(s); err == nil && strings.HasPrefix(s, `"`) {
			name, _ = strconv.Unquote(quoted) // QuotedPrefix has checked it
			s = strings.TrimPrefix(s[len(quoted):], "@")
		} else {
			name, s, _ = strings.Cut(s, "@")
		}
		names = append(names, name)
		s = strings.TrimPrefix(s, " ")
	}
	return names
}

// workspacePaths are the folders of jj's workspaces by name, as far as they are known: jj
// keeps them in a file since 0.36, and prints none whose folder is gone.
func (w *Workspace) workspacePaths() map[string]string {
	paths := map[string]string{"default": w.main}
	if data, err := os.ReadFile(filepath.Join(w.jjRepo, "workspace_store", "index")); err == nil {
		for _, message := range messages(data) {
			name, named := stringField(message, 1)
			path, placed := stringField(message, 2)
			if !named || !placed {
				continue
			}
			path = filepath.FromSlash(path)
			if !filepath.IsAbs(path) {
				path = filepath.Join(w.jjRepo, path)
			}
			paths[name] = filepath.Clean(path)
		}
	}
	paths[w.Name] = w.Root
	return paths
}

// messages are the messages of an encoded protocol buffer that has nothing but one
// repeated field, the first; none where it is something else.
func messages(data []byte) [][]byte {
	var found [][]byte
	for len(data) > 0 {
		size, n := binary.Uvarint(data[1:])
		if data[0] != 1<<3|2 || n <= 0 || size > uint64(len(data)-1-n) {
			return nil
		}
		data = data[1+n:]
		found, data = append(found, data[:size]), data[size:]
	}
	return found
}

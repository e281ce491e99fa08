package jjbridge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// alteredState is what is known of altered files from one capture to the next.
type alteredState struct {
	Rules string             // a sum over what decides how git stores files; "" where nothing does
	Tree  string             // the files they were found among
	Files []snapshot.Altered // sorted
}

// altered lists the files whose stored form is not what stands in the working copy. Where
// no attribute and no setting alters files it costs nothing; else, what was read now.
func (c *filesCapture) altered(ctx context.Context, now *index, root objstore.ID, read []string) ([]snapshot.Altered, error) {
	if c.git.gitDir != "" {
		return nil, nil // stored byte for byte
	}
	rules := c.w.rules(now)
	if rules == "" {
		return nil, nil
	}
	known := c.source.state.Altered
	var kept []snapshot.Altered
	if known.Rules == rules && known.Tree == c.source.trees.root.String() {
		again := make(map[string]bool, len(read))
		for _, path := range read {
			again[path] = true
		}
		for _, a := range known.Files {
			if _, found := now.find(a.Path); found && !again[a.Path] {
				kept = append(kept, a)
			}
		}
	} else {
		read = nil
		for _, e := range now.entries {
			read = append(read, e.path)
		}
	}
	fresh, err := c.w.compareStored(ctx, c.p, now, read)
	if err != nil {
		return nil, err
	}
	files := append(kept, fresh...)
	slices.SortFunc(files, func(a, b snapshot.Altered) int { return cmp.Compare(a.Path, b.Path) })
	state := alteredState{Rules: rules, Tree: root.String(), Files: files}
	if state.Rules == known.Rules && state.Tree == known.Tree && slices.Equal(state.Files, known.Files) {
		return files, nil
	}
	c.source.state.Altered = state
	return files, c.p.writeState(c.source.state)
}

// rules is a sum over the attributes and settings that decide how git stores files; ""
// where there are none.
func (w *Workspace) rules(now *index) string {
	sum := sha1.New()
	found := false
	add := func(name string, value []byte) {
		found = true
		sum.Write(fmt.Appendf(nil, "%q %q\n", name, value))
	}
	for _, e := range now.entries {
		if path.Base(e.path) == ".gitattributes" {
			add(e.path, e.id.Bytes())
		}
	}
	for _, name := range w.attributeFiles() {
		if data, err := os.ReadFile(name); err == nil {
			add(name, data)
		}
	}
	if value, ok := w.Repo.Config.Get("core.autocrlf"); ok && w.convertsEOL() {
		add("core.autocrlf", []byte(value))
	}
	if !found {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(w.Repo.Config)) {
		if strings.HasPrefix(key, "filter.") || key == "core.eol" {
			value, _ := w.Repo.Config.Get(key)
			add(key, []byte(value))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// convertsEOL tells whether git normalises line endings without being told so by an attribute.
func (w *Workspace) convertsEOL() bool {
	value, ok := w.Repo.Config.Get("core.autocrlf")
	if !ok || strings.EqualFold(value, "input") {
		return ok
	}
	converts, err := w.Repo.Config.Bool("core.autocrlf", false)
	return err == nil && converts
}

// attributeFiles are the files besides those in the index in which git looks for attributes.
func (w *Workspace) attributeFiles() []string {
	files := []string{w.full(".gitattributes"), filepath.Join(w.Repo.CommonDir, "info", "attributes")}
	home := lookupEnv(w.env, "HOME")
	if name, ok := w.Repo.Config.Get("core.attributesfile"); ok {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, rest)
		}
		return append(files, name)
	}
	folder := cmp.Or(lookupEnv(w.env, "XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	return append(files, filepath.Join(folder, "git", "attributes"))
}

// attributes are those of one path, by name.
type attributes map[string]string

// storing are the attributes that decide how git stores a file.
var storing = []string{"filter", "working-tree-encoding", "ident", "text", "eol", "crlf"}

// compareStored finds those of paths whose stored form is not what stands in the working copy.
func (w *Workspace) compareStored(ctx context.Context, p *privateIndex, now *index, paths []string) ([]snapshot.Altered, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := w.gitWith(ctx, gitRun{
		args: append([]string{"check-attr", "-z", "--stdin"}, storing...), env: []string{"GIT_INDEX_FILE=" + p.path()},
		stdin: strings.NewReader(strings.Join(paths, "\x00") + "\x00"),
	})
	if err != nil {
		return nil, err
	}
	fields := splitPaths(out)
	var altered []snapshot.Altered
	for step := 3 * len(storing); len(fields) >= step; fields = fields[step:] {
		has := make(attributes, len(storing))
		for i := range storing {
			if value := fields[3*i+2]; value != "unspecified" && value != "unset" {
				has[fields[3*i+1]] = value
			} else if value == "unset" && fields[3*i+1] == "text" {
				has["binary"] = "set"
			}
		}
		i, found := now.find(fields[0])
		if !found || now.entries[i].more != 0 {
			continue
		}
		if by := w.alteredBy(&now.entries[i], has); by != "" {
			altered = append(altered, snapshot.Altered{Path: fields[0], By: by})
		}
	}
	return altered, nil
}

// alteredBy names what makes the stored form of a file another than the file; "" where
// they are the same.
func (w *Workspace) alteredBy(e *indexEntry, has attributes) string {
	if e.mode != objstore.ModeFile && e.mode != objstore.ModeExecutable {
		return ""
	}
	filter := has["filter"]
	if filter == "lfs" {
		return filter // what is stored is never the file
	}
	if _, clean := w.Repo.Config.Get("filter." + filter + ".clean"); !clean {
		if _, process := w.Repo.Config.Get("filter." + filter + ".process"); !process {
			filter = ""
		}
	}
	text := has["binary"] == "" && (has["text"] != "" || has["eol"] != "" || has["crlf"] != "" || w.convertsEOL())
	if filter == "" && has["working-tree-encoding"] == "" && has["ident"] == "" && !text {
		return ""
	}
	data, err := os.ReadFile(w.full(e.path))
	if err != nil || objstore.Hash(objstore.Blob, data) == e.id {
		return ""
	}
	switch {
	case filter != "":
		return filter
	case has["working-tree-encoding"] != "":
		return "encoding"
	case has["ident"] != "" && bytes.Contains(data, []byte("$Id:")):
		return "ident"
	case bytes.Contains(data, []byte("\r\n")):
		return "eol"
	}
	return "" // it has changed since
}

package jjbridge

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/internal/jjbridge/gitindex"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
)

// contentRules reads the user's settings and attributes that decide which bytes git stores for a file of a
// working copy, and which bytes a checkout writes.
type contentRules struct {
	config    gitexec.Config
	root      string   // the top of the working copy
	commonDir string   // git's common directory, which contains info/attributes
	env       []string // NAME=value; HOME and XDG_CONFIG_HOME lead to the user's own attributes
}

// newContentRules returns the contentRules of the working copy w.
func newContentRules(w *Workspace) contentRules {
	return contentRules{config: w.Repo.Config, root: w.Root, commonDir: w.Repo.CommonDir, env: w.env}
}

// full returns the file system path of path, a slash-separated path relative to the root of the working copy.
func (r contentRules) full(path string) string {
	return filepath.Join(r.root, filepath.FromSlash(path))
}

// altered returns the files of tree, the captured tree, whose bytes a checkout of tree would change if the user's
// filters did not run. edits has, by path, the edits that turned HEAD's tree into tree. In a jj workspace, or if no
// attribute and no setting changes bytes, the result is zero.
//
// If the last capture was stored and had the same rules, altered reads only the files that differ from the tree of
// that capture. For all other files, it uses the stored result of that capture. Otherwise it reads all files.
func (c *filesCapture) altered(ctx context.Context, tree objstore.ID, edits map[string]treeFile) (gitindex.AlteredFiles, error) {
	if c.git.gitDir != "" {
		return gitindex.AlteredFiles{}, nil // a jj workspace: git stores files byte for byte
	}
	rules := newContentRules(c.w).sum(c.attributeFiles(edits))
	if rules == "" {
		return gitindex.AlteredFiles{}, nil
	}
	// The stored list counts only if the current rules made it, for the tree of the last capture.
	known := c.state.Altered
	if known.Rules != rules || known.Tree != c.state.Tree {
		known = gitindex.AlteredFiles{Rules: rules}
	}
	changed, err := c.builder.newFiles(known.Tree, tree)
	if err != nil {
		return gitindex.AlteredFiles{}, err
	}
	fresh, err := c.compareStored(ctx, changed)
	if err != nil {
		return gitindex.AlteredFiles{}, err
	}
	still, err := c.builder.stillAltered(known, tree)
	if err != nil {
		return gitindex.AlteredFiles{}, err
	}
	fresh = append(fresh, still...)
	slices.SortFunc(fresh, func(a, b snapshot.AlteredFile) int { return cmp.Compare(a.Path, b.Path) })
	return gitindex.AlteredFiles{Rules: rules, Tree: tree, Files: fresh}, nil
}

// stillAltered returns the files in known that are the same in known.Tree and in tree. If known.Tree is zero, the
// result is empty. stillAltered reads only subtrees that differ, and each such subtree once for all files.
func (b *treeBuilder) stillAltered(known gitindex.AlteredFiles, tree objstore.ID) ([]snapshot.AlteredFile, error) {
	if len(known.Files) == 0 || known.Tree.IsZero() {
		return nil, nil
	}
	stale, err := b.newFiles(tree, known.Tree) // the files of known.Tree that tree lacks, or has in another version
	if err != nil {
		return nil, err
	}
	var still []snapshot.AlteredFile
	for _, a := range known.Files {
		if _, differs := stale[a.Path]; !differs {
			still = append(still, a)
		}
	}
	return still, nil
}

// attributeFiles returns the blob ids of the captured .gitattributes files by path. These are the files of the user's
// index, with the changes in edits. A file that an edit removes is left out.
func (c *filesCapture) attributeFiles(edits map[string]treeFile) map[string]objstore.ID {
	found := make(map[string]objstore.ID)
	for _, file := range c.state.Survey.Attributes {
		found[file.Path] = file.ID
	}
	for name, file := range edits {
		if path.Base(name) != ".gitattributes" {
			continue
		}
		if found[name] = file.id; !file.exists() {
			delete(found, name)
		}
	}
	return found
}

// alteredRules is the version of the rules by which compareStored finds altered files. It is a part of every sum, so a
// list that another version of the program stored is computed anew.
const alteredRules = "2"

// sum returns a hash, in hex, of the attributes and settings that decide how git stores files and checks them out.
// files has the blob ids of the captured .gitattributes files by path. If there is no attribute file and
// core.autocrlf is off, git stores every file byte for byte, and sum returns "". sum ignores an attribute file that
// cannot be read.
func (r contentRules) sum(files map[string]objstore.ID) string {
	sum := sha1.New()
	sum.Write([]byte(alteredRules))
	found := false
	add := func(name string, value []byte) {
		found = true
		sum.Write(fmt.Appendf(nil, "%q %q\n", name, value))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		add(name, files[name].Bytes())
	}
	for _, name := range r.attributePaths() {
		if data, err := os.ReadFile(name); err == nil {
			add(name, data)
		}
	}
	if auto := r.autoCRLF(); auto != autoCRLFOff {
		add("core.autocrlf", []byte(auto))
	}
	if !found {
		return ""
	}
	// Without an attribute or core.autocrlf, these settings change no file.
	for _, key := range slices.Sorted(maps.Keys(r.config)) {
		if strings.HasPrefix(key, "filter.") || key == "core.eol" {
			value, _ := r.config.Get(key)
			add(key, []byte(value))
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// attributePaths returns the paths of three files in which git looks for attributes. These are the .gitattributes at
// the top, info/attributes, and the user's own file. The user's own file is named by core.attributesFile, or is
// git/attributes in the user's configuration folder. The files may be missing.
func (r contentRules) attributePaths() []string {
	files := []string{r.full(".gitattributes"), filepath.Join(r.commonDir, "info", "attributes")}
	home, _ := gitexec.LookupEnv(r.env, "HOME")
	if name, ok := r.config.Get("core.attributesfile"); ok {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, rest)
		}
		return append(files, name)
	}
	folder, _ := gitexec.LookupEnv(r.env, "XDG_CONFIG_HOME")
	return append(files, filepath.Join(cmp.Or(folder, filepath.Join(home, ".config")), "git", "attributes"))
}

// compareStored returns the files whose bytes a checkout would change if the user's filters did not run. files has the
// captured files to check, by path. The result is not sorted, and lacks files of the working copy that cannot be read.
func (c *filesCapture) compareStored(ctx context.Context, files map[string]treeFile) ([]snapshot.AlteredFile, error) {
	if len(files) == 0 {
		return nil, nil
	}
	names := slices.Sorted(maps.Keys(files))
	if err := c.askAttributes(ctx, names); err != nil {
		return nil, err
	}
	rules := newContentRules(c.w)
	var altered []snapshot.AlteredFile
	var ask []askedFile
	for _, name := range names {
		file := files[name]
		by, undecided := rules.alteredBy(name, file, c.given[name])
		switch {
		case undecided:
			ask = append(ask, askedFile{gitindex.Entry{Path: name, Mode: file.mode, ID: file.id}, by})
		case by != "":
			altered = append(altered, snapshot.AlteredFile{Path: name, By: by})
		}
	}
	asked, err := c.askGit(ctx, ask)
	return append(altered, asked...), err
}

// askAttributes makes git tell the attributes of those of names that c.given lacks.
func (c *filesCapture) askAttributes(ctx context.Context, names []string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return c.given[name] != nil })
	if len(names) == 0 {
		return nil
	}
	out, err := c.w.gitWith(ctx, gitRun{
		args: append([]string{"check-attr", "-z", "--stdin"}, contentAttributes()...), env: []string{"GIT_INDEX_FILE=" + c.p.TrackedPath()},
		stdin: paths(names),
	})
	if err != nil {
		return err
	}
	if c.given == nil {
		c.given = make(map[string]attributes)
	}
	fields := splitPaths(out)
	// git prints three fields for each path and attribute: the path, the attribute's name and its value.
	for step := 3 * len(contentAttributes()); len(fields) >= step; fields = fields[step:] {
		has := make(attributes)
		for i := range contentAttributes() {
			if value := fields[3*i+2]; value != "unspecified" {
				has[fields[3*i+1]] = value
			}
		}
		c.given[fields[0]] = has
	}
	return nil
}

// attributes has the values of one path's attributes, by name. Unspecified attributes are missing.
type attributes map[string]string

// given reports whether the attribute with the given name is set or has a value.
func (a attributes) given(name string) bool { return a[name] != "" && a[name] != "unset" }

// alteredBy returns the conversion by which a checkout changes the bytes of file, in the words of
// snapshot.AlteredFile.By. file is the captured file at path, and has holds the attributes of path. If a checkout does not change the bytes, the
// file is a symbolic link or a submodule, or the file cannot be read, by is "".
//
// If only git can answer, undecided is true. by is then the conversion to name if git's answer is that the bytes
// change.
func (r contentRules) alteredBy(path string, file treeFile, has attributes) (by string, undecided bool) {
	if file.mode != objstore.ModeFile && file.mode != objstore.ModeExecutable {
		return "", false
	}
	if has["filter"] == "lfs" {
		return "lfs", false // git stores a pointer, never the file
	}
	filter := r.filterOf(has)
	ends := r.lineEndsOf(has)
	recoded := has.given("working-tree-encoding")
	if filter == "" && !ends.converts && !recoded && !has.given("ident") {
		return "", false
	}
	data, err := os.ReadFile(r.full(path))
	if err != nil {
		return "", false
	}
	stored := file.id.Names(objstore.Blob, data)
	switch {
	case filter != "" && !stored:
		// the filter has changed the bytes that git stored
		return filter, false
	case filter == "" && recoded:
		return "encoding", true
	case filter == "" && has.given("ident") && bytes.Contains(data, []byte("$Id")):
		return "ident", true
	case ends.alters(data, file.id, stored):
		return "eol", false
	}
	return "", false
}

// filterOf returns the name of a file's filter. has holds the file's attributes. If the attributes name no filter, or
// the configuration has neither a clean nor a process command for the filter, filterOf returns "".
func (r contentRules) filterOf(has attributes) string {
	name := has["filter"]
	for _, command := range []string{"clean", "process"} {
		if _, ok := r.config.Get("filter." + name + "." + command); ok && has.given("filter") {
			return name
		}
	}
	return ""
}

// askedFile is a captured file for which only a checkout by git shows whether the bytes change.
type askedFile struct {
	entry gitindex.Entry
	by    string // the conversion to name if the bytes change
}

// askGit returns the files whose bytes a checkout changes, in the order of the parameter files. git checks the files
// out into a temporary folder, and askGit compares the results with the files of the working copy. No command of the
// user runs, because a file with a filter is never in files. askGit leaves out a file of the working copy that can no
// longer be read.
func (c *filesCapture) askGit(ctx context.Context, files []askedFile) (_ []snapshot.AlteredFile, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	if err := c.quarantine(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(c.q.Dir, "checkout-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	index := &gitindex.Index{Hash: algorithm(c.w.Repo)}
	for _, file := range files {
		index.Entries = append(index.Entries, file.entry)
	}
	index.Sort()
	private := filepath.Join(dir, ".git") // never the path of a captured file
	if err := index.Write(private); err != nil {
		return nil, err
	}
	_, err = c.w.gitWith(ctx, gitRun{
		args: []string{"checkout-index", "--all", "--prefix=" + dir + "/"},
		env:  append(c.q.GitEnv(objectsDir(c.w.Repo), c.w.env), "GIT_INDEX_FILE="+private),
	})
	if err != nil {
		return nil, err
	}
	var altered []snapshot.AlteredFile
	for _, file := range files {
		there, err := os.ReadFile(c.w.full(file.entry.Path))
		if err != nil {
			continue // the file was removed since the capture read it
		}
		given, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file.entry.Path)))
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(there, given) {
			altered = append(altered, snapshot.AlteredFile{Path: file.entry.Path, By: file.by})
		}
	}
	return altered, nil
}

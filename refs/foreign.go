package refs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
)

// foreignBroken reads the ref files outside the folders of this program. It returns a *BrokenError for each file that
// git cannot read as a ref, sorted by name. It skips locks, files whose names begin with ".", and files that disappear.
func (db *DB) foreignBroken(ctx context.Context) ([]*BrokenError, error) {
	var broken []*BrokenError
	top := filepath.Join(db.reader.dir, "refs")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			if isNoFile(err) {
				err = nil
			}
			return err
		}
		rel, err := filepath.Rel(db.reader.dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (name+"/" == prefix || name+"/" == remotePrefix):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(name, lockSuffix):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			if isNoFile(err) {
				err = nil
			}
			return err
		}
		if reason := db.reader.foreignFlaw(content); reason != "" {
			broken = append(broken, &BrokenError{Name: Name(name), Path: path, Reason: reason})
		}
		return nil
	})
	return broken, err
}

// foreignFlaw returns the reason why git cannot read content, the content of a ref's file, or "" if git can
// read it. Like git, it accepts a symbolic ref, and ignores the text after white space that follows an id.
func (r reader) foreignFlaw(content []byte) string {
	// short ends one byte after the id, so parseLoose accepts an id with a line feed and any text after the line feed.
	short := content[:min(len(content), r.hexLen+1)]
	if _, reason := parseLoose(short, r.hexLen); reason == "" || reason == symbolic {
		return ""
	} else if len(content) < r.hexLen {
		return reason
	}
	_, err := objstore.ParseID(string(content[:r.hexLen]))
	if err != nil || len(content) > r.hexLen && !strings.ContainsRune(" \t\r\n\v\f", rune(content[r.hexLen])) {
		return "the file does not hold an object id"
	}
	return ""
}

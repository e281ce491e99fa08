package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

// A Folder is the folder in which a request is made. Relative names of files are resolved against it.
type Folder string

// Path returns the path of the file with the given name. A relative name is resolved against the folder f. An absolute
// name is returned unchanged.
func (f Folder) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(string(f), name)
}

// RealPath returns the absolute path of the file with the given name, without symbolic links in the path of its folder.
// The file itself may be a symbolic link: RealPath does not resolve the last element of the path. See RealFolder for a
// folder that does not exist.
func (f Folder) RealPath(name string) string {
	path := filepath.Clean(f.Path(name))
	return filepath.Join(RealFolder(filepath.Dir(path)), filepath.Base(path))
}

// ReadFile reads the beginning of the file with the given name, at most limit+1 bytes. If the result is longer than
// limit, the file is too long. If ctx ends first, for example because the file is a pipe without a writer, ReadFile
// returns the error of ctx.
func (f Folder) ReadFile(ctx context.Context, name string, limit int) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	// The buffer lets the goroutine end, even if ReadFile has already returned.
	done := make(chan read, 1)
	go func() {
		file, err := os.Open(f.Path(name))
		if err != nil {
			done <- read{nil, err}
			return
		}
		data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
		done <- read{data, errors.Join(err, file.Close())}
	}()
	select {
	case got := <-done:
		return got.data, got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// RealFolder returns the path dir with all symbolic links resolved. If dir does not exist, RealFolder resolves only the
// part of the path that exists. A part that cannot be resolved for another reason stays unchanged.
func RealFolder(dir string) string {
	resolved, err := filepath.EvalSymlinks(dir)
	switch parent := filepath.Dir(dir); {
	case err == nil:
		return resolved
	case !os.IsNotExist(err) || parent == dir:
		return dir
	default:
		return filepath.Join(RealFolder(parent), filepath.Base(dir))
	}
}

// textRead is how many bytes of a workflow file NeedFile checks.
const textRead = 512

// NeedFile returns nil if the file with the given name can be read as a workflow file of any engine. The error is
// workflow_not_found if the file is missing, is a folder or cannot be read. The error is invalid_workflow if the file
// is not a regular file, or is not text because its beginning has a zero byte.
func (f Folder) NeedFile(name string) error {
	shown := filepath.ToSlash(name)
	info, err := os.Stat(f.Path(name))
	if err != nil || info.IsDir() {
		return fault.New(fault.WorkflowNotFound, "there is no workflow file %s", shown).Detail("file", name)
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.InvalidWorkflow, "%s is not a workflow: it is not a regular file", shown).Detail("file", name)
	}
	head, err := f.beginningOf(name)
	if err != nil {
		return fault.New(fault.WorkflowNotFound, "the workflow file cannot be read: %w", err).Detail("file", name)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return fault.New(fault.InvalidWorkflow, "%s is not a workflow: it is not text", shown).Detail("file", name)
	}
	return nil
}

// beginningOf returns the first textRead bytes of the file with the given name, or the whole file if it is shorter.
func (f Folder) beginningOf(name string) ([]byte, error) {
	file, err := os.Open(f.Path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // the file was only read
	return io.ReadAll(io.LimitReader(file, textRead))
}

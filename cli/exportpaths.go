package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// exportRequest makes paths absolute, as Smithers' own programs see them: without links. Codes: workflow_not_found
// and invalid_workflow of the workflow, usage of the root, database_not_found of the database.
func (s *session) exportRequest(opts exportOptions) (smithers.ExportRequest, error) {
	req := smithers.ExportRequest{Runs: opts.runs, To: s.realPath(opts.to)}
	if err := s.needNameOfFile(opts.to); err != nil {
		return req, err
	}
	if opts.root != "" {
		if info, err := os.Stat(s.path(opts.root)); err != nil || !info.IsDir() {
			return req, fault.New(fault.Usage, "--root: there is no folder %s", filepath.ToSlash(opts.root)).
				Hint("it takes the folder in which the runs go on")
		}
		req.Root = realFolder(filepath.Clean(s.path(opts.root)))
	}
	if opts.workflow != "" {
		if err := s.needFile(opts.workflow); err != nil {
			return req, err
		}
		req.Workflow = s.realPath(opts.workflow)
	}
	return req, nil
}

// needNameOfFile is database_not_found for the name of a folder that is not there.
func (s *session) needNameOfFile(name string) error {
	if !strings.HasSuffix(filepath.ToSlash(name), "/") {
		return nil
	}
	if info, err := os.Stat(s.path(name)); err == nil && info.IsDir() {
		return nil // what is wrong with it is for the export to say
	}
	return fault.New(fault.DatabaseNotFound, "there is no folder %s", filepath.ToSlash(name)).
		Hint("--to takes the name of a file, such as smithers.db")
}

// realPath is a file's absolute path, in its folder without links.
func (s *session) realPath(name string) string {
	path := filepath.Clean(s.path(name))
	return filepath.Join(realFolder(filepath.Dir(path)), filepath.Base(path))
}

// textRead is how much of a workflow file is looked at.
const textRead = 512

// needFile is workflow_not_found where there is no such file, or none that can be read, and invalid_workflow
// for what is no text.
func (s *session) needFile(name string) error {
	shown := filepath.ToSlash(name)
	info, err := os.Stat(s.path(name))
	if err != nil || info.IsDir() {
		return fault.New(fault.WorkflowNotFound, "there is no workflow file %s", shown).Detail("file", name)
	}
	if !info.Mode().IsRegular() {
		return fault.New(fault.InvalidWorkflow, "%s is no workflow: it is no regular file", shown).Detail("file", name)
	}
	head, err := s.headOf(name)
	if err != nil {
		return fault.New(fault.WorkflowNotFound, "the workflow file cannot be read: %w", err).Detail("file", name)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return fault.New(fault.InvalidWorkflow, "%s is no workflow: it is not text", shown).Detail("file", name)
	}
	return nil
}

// headOf reads the beginning of a file.
func (s *session) headOf(name string) ([]byte, error) {
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(f, textRead))
}

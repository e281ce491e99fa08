package peers

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/app"
	"github.com/git-smithers/git-smithers/cli/session"
	"github.com/git-smithers/git-smithers/peer/smithers"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// exportRequest makes paths absolute, as Smithers' own programs see them: without links. Codes: workflow_not_found
// and invalid_workflow of the workflow, usage of the root, database_not_found of the database.
func exportRequest(s *session.Session, opts exportOptions) (smithers.ExportRequest, error) {
	req := smithers.ExportRequest{Runs: opts.runs, To: s.Folder().RealPath(opts.to)}
	if err := needNameOfFile(s, opts.to); err != nil {
		return req, err
	}
	if opts.root != "" {
		if info, err := os.Stat(s.Path(opts.root)); err != nil || !info.IsDir() {
			return req, fault.New(fault.Usage, "--root: there is no folder %s", filepath.ToSlash(opts.root)).
				Hint("--root needs an existing folder: the one in which the exported runs continue")
		}
		req.Root = app.RealFolder(filepath.Clean(s.Path(opts.root)))
	}
	if opts.workflow != "" {
		if err := s.Folder().NeedFile(opts.workflow); err != nil {
			return req, err
		}
		req.Workflow = s.Folder().RealPath(opts.workflow)
	}
	return req, nil
}

// needNameOfFile is database_not_found for the name of a folder that is not there.
func needNameOfFile(s *session.Session, name string) error {
	if !strings.HasSuffix(filepath.ToSlash(name), "/") {
		return nil
	}
	if info, err := os.Stat(s.Path(name)); err == nil && info.IsDir() {
		return nil // what is wrong with it is for the export to say
	}
	return fault.New(fault.DatabaseNotFound, "there is no folder %s", filepath.ToSlash(name)).
		Hint("name a file in an existing folder, such as --to smithers.db")
}

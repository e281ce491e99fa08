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

// exportRequest returns the request of export. The paths in it are absolute, and their folders have no symbolic links,
// as Smithers sees them. The error is workflow_not_found or invalid_workflow for the workflow, usage for the root, and
// database_not_found for the database.
func exportRequest(s *session.Session, opts exportOptions) (smithers.ExportRequest, error) {
	req := smithers.ExportRequest{Runs: opts.runs, To: s.Folder().RealPath(opts.to)}
	if err := needNameOfFile(s, opts.to); err != nil {
		return req, err
	}
	if opts.root != "" {
		if info, err := os.Stat(s.Path(opts.root)); err != nil || !info.IsDir() {
			return req, fault.New(fault.Usage, "--root: there is no folder %s", filepath.ToSlash(opts.root)).
				Hint("name an existing folder: Smithers continues the exported runs in it")
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

// needNameOfFile returns database_not_found if name ends in a slash and is not an existing folder.
func needNameOfFile(s *session.Session, name string) error {
	if !strings.HasSuffix(filepath.ToSlash(name), "/") {
		return nil
	}
	if info, err := os.Stat(s.Path(name)); err == nil && info.IsDir() {
		return nil // the export reports that the database is a folder
	}
	return fault.New(fault.DatabaseNotFound, "there is no folder %s", filepath.ToSlash(name)).
		Hint("name a file in an existing folder, such as --to smithers.db")
}

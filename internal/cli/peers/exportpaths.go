package peers

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/git-smithers/git-smithers/internal/app"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/peer/smithers"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// exportRequest returns the request for an export that opts describes. The paths in the request are absolute, and their
// folders have no symbolic links, as in Smithers. The error is workflow_not_found or invalid_workflow if the workflow
// cannot be used, and usage if the root is not a folder. The error is database_not_found if the name of the database
// ends in a slash and no folder has this name.
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

// needNameOfFile returns database_not_found if name ends in a slash and no folder has this name. In all other cases, it
// returns nil. If name is an existing folder, the export itself reports the error.
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

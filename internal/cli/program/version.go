package program

import (
	"context"
	"runtime"
	"runtime/debug"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/session"
)

// versionDocument is the document of version --json.
type versionDocument struct {
	Kind     string `json:"kind"`
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionCommand() *arg.Command {
	return &arg.Command{
		Name:     "version",
		Summary:  "print the version",
		Examples: []arg.Example{{"print the version, commit and platform", "git smithers version"}},
		Run: func(_ context.Context, s *session.Session, _ *urfave.Context) error {
			return runVersion(s)
		},
	}
}

// runVersion prints the version of git smithers, the commit if Go recorded one, the version of Go, and the platform. The version and the
// commit come from the build information that Go recorded. If Go recorded no version, the version is (devel). `go install` of a
// version records no commit.
func runVersion(s *session.Session) error {
	doc := versionDocument{
		Kind: "version", Version: Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				doc.Revision = setting.Value
			}
		}
	}
	if s.JSON {
		return s.WriteJSON(doc)
	}
	commit := ""
	if doc.Revision != "" {
		commit = "commit " + doc.Revision[:min(12, len(doc.Revision))] + " "
	}
	return s.Printf("git-smithers %s %s%s %s\n", doc.Version, commit, doc.Go, doc.Platform)
}

// Version returns the version that Go has recorded in the program, or "(devel)" if Go recorded no version.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

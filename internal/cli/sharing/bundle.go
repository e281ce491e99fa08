package sharing

import (
	"context"
	"io"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/share"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

func bundleCommand() *arg.Command {
	return &arg.Command{
		Name:    "bundle",
		Summary: "write runs to a file",
		Usage:   []string{"<run>... -o FILE [--allow DIGEST]..."},
		About: `Writes the named runs, and the runs that they have called, to a file, with all of their history
and captured code, to share them without a remote: unbundle reads the file. The file is a git bundle, so git fetch and git
clone read it, too. It needs no other repository: it includes the history of the code that
the runs build on. An existing file is not overwritten. -o - writes the bundle to standard
output, and the ids of the runs to standard error.

Before that, bundle searches the runs for secrets, as push does; see git smithers help secrets.`,
		MinArgs: 1, MaxArgs: arg.AnyNumber,
		Required: []string{"output"},
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, - for standard output (required)"},
			allowFlag(),
		},
		Exits:    arg.Writes(),
		Examples: []arg.Example{{"write two runs to a file, for a machine without a network", "git smithers bundle triage-1 triage-2 -o runs.bundle"}},
		Run: func(ctx context.Context, s *session.Session, c *urfave.Context) error {
			file := c.String("output")
			req := share.BundleRequest{Runs: c.Args().Slice(), Allow: arg.Texts(c, "allow")}
			return withSharer(ctx, s, func(_ *timeline.Store, sharer *share.Sharer) error { return runBundle(ctx, s, sharer, file, req) })
		},
	}
}

// pipeBundle writes a bundle of runs to standard output. The ids of the runs, or the document with --json, go to
// standard error. The error is usage if standard output is a terminal.
func pipeBundle(ctx context.Context, s *session.Session, sharer *share.Sharer, req share.BundleRequest) error {
	if s.OutTTY {
		return fault.New(fault.Usage, "a bundle cannot be written to a terminal").Hint("name a file: -o runs.bundle")
	}
	var written counter
	ids, err := sharer.Bundle(ctx, io.MultiWriter(s.Out, &written), req)
	if err != nil {
		return err
	}
	if s.JSON {
		s.TalkJSON(bundleDocument(ids, "-", int64(written)))
	}
	for _, id := range ids {
		s.Note("%s", plain.Text(id))
	}
	return nil
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// runBundle writes a bundle of runs to file, and prints the ids of the runs. If file is "-", it calls pipeBundle
// instead. runBundle first writes a draft of the bundle. It puts the draft in the place of file when the draft is
// complete, so that a failure leaves no partial file. The error is usage if file already exists.
func runBundle(ctx context.Context, s *session.Session, sharer *share.Sharer, file string, req share.BundleRequest) error {
	if file == "-" {
		return pipeBundle(ctx, s, sharer, req)
	}
	draft, err := newBundleDraft(s.Path(file), file)
	if err != nil {
		return err
	}
	defer draft.remove()
	ids, err := sharer.Bundle(ctx, draft.File, req)
	if err != nil {
		return err
	}
	size, err := draft.place()
	if err != nil {
		return err
	}
	if s.JSON {
		return s.WriteJSON(bundleDocument(ids, file, size))
	}
	s.Note("wrote %s to %s: %s", plain.Count(len(ids), "run"), plain.Text(file), display.Size(size))
	for _, id := range ids {
		if err := s.Printf("%s\n", plain.Text(id)); err != nil {
			return err
		}
	}
	return nil
}

// bundleDocument returns the document of bundle --json. file is "-" for standard output.
func bundleDocument(runs []string, file string, bytes int64) any {
	return term.Document("bundle", term.Member("runs", runs), term.Member("file", file), term.Member("bytes", bytes))
}

package report

import (
	"context"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/timeline"
)

// maxStat is the number of changed files that are named, if the report is on one run.
const maxStat = 30

// fileStat sets Files: how the files of the run's working copy have changed since the first frame.
func (r *runReader) fileStat(ctx context.Context) error {
	if r.sum.VCS == nil || r.sum.First == nil || r.sum.Code.IsZero() {
		return nil
	}
	first, err := r.sum.First.VCSRevision()
	if err != nil || first == nil {
		return timeline.Explain(err)
	}
	from, to := first.Tree, r.sum.VCS.Tree
	if from.IsZero() || to.IsZero() || from == to {
		return nil
	}
	git, args := files.Numstat(r.store) // the summary has checked how many files there are
	out, err := git.Run(ctx, append(args, "-z", from.String(), to.String())...)
	if err != nil {
		return timeline.Explain(err)
	}
	const columns = 3
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		fields := strings.SplitN(line, "\t", columns)
		if len(fields) < columns {
			continue
		}
		if len(r.out.Files) >= r.share(maxStat) {
			r.out.MoreFiles++
			continue
		}
		file := File{Path: r.name(fields[columns-1])}
		file.Added, file.Removed, file.Counted = files.CountedLines(fields)
		r.out.Files = append(r.out.Files, file)
	}
	return nil
}

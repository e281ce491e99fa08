package list

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/code"
)

// CountLines counts the lines of the effects of a timeline that nobody has counted yet, the newest
// first, and remembers them in the index. It needs the files' contents, so it may take a while. When ctx ends,
// what is not counted stays nil, which is no error: the next call goes on with it.
func CountLines(ctx context.Context, s *timeline.Store, run *RunTimeline, effects []Effect) error {
	var pairs []sqliteindex.TreePair
	asked := make(map[sqliteindex.TreePair]bool)
	for _, e := range slices.Backward(effects) {
		if e.Changed && e.Lines == nil && !asked[e.trees] {
			asked[e.trees] = true
			pairs = append(pairs, e.trees)
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	counted, err := countLines(ctx, s, pairs)
	setLines(effects, counted)
	if len(counted) > 0 {
		// An index that cannot be written only forgets.
		_ = run.index.RememberLines(context.WithoutCancel(ctx), counted)
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the rest is counted another time
	}
	return err
}

// countLines has one git compare pairs of trees. It returns the pairs that git is done with, also
// with an error.
func countLines(ctx context.Context, s *timeline.Store, pairs []sqliteindex.TreePair) (map[sqliteindex.TreePair]sqliteindex.Lines, error) {
	git, args := code.Numstat(s)
	cmd, err := git.Command(ctx, append(args, "--stdin")...)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, timeline.Explain(err)
	}
	go func() {
		defer func() { _ = in.Close() }() // git has ended then, and says why
		for _, p := range pairs {
			if ctx.Err() != nil {
				return
			}
			// git lists a difference in memory, so it is measured first.
			if objstore.CheckChanges(ctx, s.Objects(), p.From, p.To) != nil {
				continue
			}
			if _, err := io.WriteString(in, p.From.String()+" "+p.To.String()+"\n"); err != nil {
				return
			}
		}
	}()
	counted, last, readErr := readNumstat(out)
	if err := errors.Join(cmd.Wait(), readErr); err != nil {
		delete(counted, last)
		return counted, err
	}
	return counted, nil
}

// readNumstat reads what git diff-tree --stdin --numstat writes: the two trees of each pair, then a
// line for each file. If git did not end well, the last pair is not whole.
func readNumstat(r io.Reader) (counted map[sqliteindex.TreePair]sqliteindex.Lines, last sqliteindex.TreePair, err error) {
	counted = make(map[sqliteindex.TreePair]sqliteindex.Lines)
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return counted, last, nil
		}
		if err != nil {
			return counted, last, err
		}
		if fields := strings.SplitN(line, "\t", 3); len(fields) == 3 {
			lines := counted[last]
			added, removed, _ := code.CountedLines(fields)
			lines.Added += added
			lines.Removed += removed
			counted[last] = lines
			continue
		}
		if last, err = parsePair(line); err != nil {
			return counted, last, err
		}
		counted[last] = sqliteindex.Lines{}
	}
}

func parsePair(line string) (pair sqliteindex.TreePair, err error) {
	from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
	if pair.From, err = objstore.ParseID(from); err == nil {
		pair.To, err = objstore.ParseID(to)
	}
	if err != nil {
		err = fmt.Errorf("git diff-tree: unexpected answer %q", line)
	}
	return pair, err
}

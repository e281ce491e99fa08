package list

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
)

// CountLines counts the changed lines of each effect that has changed files and no count yet, beginning with the
// newest. It sets Lines of these effects and stores the counts in the index. It reads file contents, so it may take
// long. If ctx ends early, CountLines returns nil and the remaining counts stay nil: the next call continues. If the
// trees of an effect are too large to compare, its Lines stay nil.
func CountLines(ctx context.Context, s *timeline.Store, run *RunTimeline, effects []Effect) error {
	var pairs []sqliteindex.TreePair
	asked := make(map[sqliteindex.TreePair]bool)
	for _, e := range slices.Backward(effects) {
		if e.Changed && e.Lines == nil && !asked[e.trees] {
			asked[e.trees] = true
			pairs = append(pairs, e.trees)
		}
	}
	counted, err := countAndRemember(ctx, s, run, pairs)
	setLines(effects, counted)
	return err
}

// LinesOf returns how many lines differ between the trees of each pair. run is the timeline of the run to which the trees belong.
// LinesOf takes the numbers that the index has, counts the others and stores them in the index. As with CountLines, the result lacks
// pairs that are too large and, if ctx ends early, the pairs that are not counted yet.
func LinesOf(ctx context.Context, s *timeline.Store, run *RunTimeline, pairs []sqliteindex.TreePair) (map[sqliteindex.TreePair]sqliteindex.Lines, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	known, err := run.index.Lines(context.WithoutCancel(ctx), pairs)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var missing []sqliteindex.TreePair
	for _, pair := range pairs {
		if _, ok := known[pair]; !ok && !slices.Contains(missing, pair) {
			missing = append(missing, pair)
		}
	}
	counted, err := countAndRemember(ctx, s, run, missing)
	maps.Copy(known, counted)
	return known, err
}

// countAndRemember counts the changed lines of each pair of trees, and stores the counts in the index of run. pairs has each pair once.
// If ctx ends early, countAndRemember returns the counts so far, and no error.
func countAndRemember(ctx context.Context, s *timeline.Store, run *RunTimeline, pairs []sqliteindex.TreePair) (map[sqliteindex.TreePair]sqliteindex.Lines, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	counted, err := countLines(ctx, s, pairs)
	if len(counted) > 0 {
		// If the index cannot be written, the next call counts the lines again.
		_ = run.index.RememberLines(context.WithoutCancel(ctx), counted)
	}
	if ctx.Err() != nil {
		return counted, nil //nolint:nilerr // the next call counts the remaining pairs
	}
	return counted, err
}

// countLines counts the changed lines of each pair of trees, with one git process. It skips pairs that are
// too large. With an error, it also returns the pairs that git has compared completely.
func countLines(ctx context.Context, s *timeline.Store, pairs []sqliteindex.TreePair) (map[sqliteindex.TreePair]sqliteindex.Lines, error) {
	git, args := files.Numstat(s)
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
		defer func() { _ = in.Close() }() // if Close fails, git has ended, and its exit status is the error
		for _, p := range pairs {
			if ctx.Err() != nil {
				return
			}
			// git keeps the whole difference in memory, so a large pair could exhaust it.
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

// readNumstat reads the output of git diff-tree --stdin --numstat: for each pair, a line with the two trees
// and then a line for each file. last is the last pair; if git failed, its count is incomplete.
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
			added, removed, _ := files.CountedLines(fields)
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

// parsePair parses a line of git diff-tree with the ids of the two trees of a pair. If an id is invalid, parsePair
// returns an error with the line.
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

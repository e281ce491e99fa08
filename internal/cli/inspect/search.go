package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/git-smithers/git-smithers/internal/cli/arg"
	"github.com/git-smithers/git-smithers/internal/cli/display"
	"github.com/git-smithers/git-smithers/internal/cli/requests"
	"github.com/git-smithers/git-smithers/internal/cli/session"
	"github.com/git-smithers/git-smithers/internal/cli/term"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/internal/search"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/sqliteindex"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

const (
	hitsShown  = 20     // the preset of --limit
	maxSQLHits = 10_000 // the preset with --sql
	maxContext = 100    // the largest number of --context
)

func searchCommand() *arg.Command {
	cmd := &arg.Command{
		Name:    "search",
		Summary: "find texts in the outputs, logs, prompts and files of all runs",
		Usage:   []string{"<text>... | --regex RE [-i] [--in KIND,…] [--run RUN] [--since TIME] [-C N] [--limit N] [--sql QUERY]"},
		About: `Finds texts in everything that runs have stored, newest first: what tasks put out (outputs), what
commands printed and why attempts failed (logs), what a run was asked and told (prompts), what
was said in sessions (talk), tool calls (calls), events, and files (code).

Each argument is plain text, in which no character has a meaning. A hit has all of them, and
upper or lower case does not matter. In code, an argument is a part of a line. Elsewhere, it is
words next to each other: "connection refused" in quotes is found as those two words, and
without quotes wherever both are. --regex matches each line with an expression of RE2 instead,
which ignores case only with -i.

A hit names the first frame of a run that has the text, and where it is in the frame. The first
search reads all runs, and the next ones what is new.

--sql runs one read-only SQL statement in which the table hits has the lines that were found:
hit, line, run_id, frame_no, kind, part, key, at_ms, text. "git smithers sql --tables" lists the
others, and "git smithers help searching" says what is left out of a search.`,
		MaxArgs: arg.AnyNumber,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "regex", Aliases: []string{"e"}, Usage: "find lines that match the expression `RE`"},
			&urfave.BoolFlag{Name: "ignore-case", Aliases: []string{"i"}, Usage: "ignore upper and lower case in --regex, as texts always do"},
			&urfave.StringFlag{Name: "in", Usage: "search only in these `KINDS`, with commas between them: " + strings.Join(search.Kinds(), ", ")},
			&urfave.StringFlag{Name: "run", Usage: "search only in `RUN`"},
			arg.SinceFlag("find only texts that were new since `TIME`"),
			&urfave.IntFlag{Name: "context", Aliases: []string{"C"}, Value: 1, Usage: "show `N` lines before and after each line with a match"},
			arg.LimitFlag(hitsShown, "show at most `N` hits"),
			&urfave.StringFlag{Name: "sql", Usage: "run the SQL statement `QUERY` on the table hits"},
		},
		Exits: arg.Reads(),
		Examples: []arg.Example{
			{"find where an error was seen", `git smithers search "connection refused"`},
			{"find which prompts asked for it", "git smithers search --in prompts flaky test"},
			{"find who wrote a function", `git smithers search --in code "func parseConfig("`},
			{"find timeouts of the last week in logs", `git smithers search --regex 'timed? ?out after [0-9]+' -i --in logs --since 7d`},
			{"count hits by workflow", `git smithers search panic --sql 'SELECT workflow_name, count(DISTINCT hit) FROM hits JOIN _smithers_runs USING (run_id) GROUP BY 1'`},
		},
	}
	cmd.Run = func(ctx context.Context, s *session.Session, c *urfave.Context) error {
		query, err := parseSearch(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runSearch(ctx, s, store, query, c.String("sql")) })
	}
	return cmd
}

// parseSearch reads the query from the command line. Its Run is as the command line names it.
func parseSearch(s *session.Session, cmd *arg.Command, c *urfave.Context) (q search.Query, err error) {
	q = search.Query{Texts: c.Args().Slice(), Regex: c.String("regex"), IgnoreCase: c.Bool("ignore-case"), Run: c.String("run"), Context: c.Int("context")}
	switch {
	case (q.Regex == "") == (len(q.Texts) == 0):
		return q, cmd.Misused("search takes either texts or --regex")
	case q.IgnoreCase && q.Regex == "":
		return q, cmd.Misused("-i is for --regex: texts ignore case")
	case q.Context < 0 || q.Context > maxContext:
		return q, fault.New(fault.Usage, "--context cannot be %d", q.Context).Hint("use a number from 0 to %d", maxContext)
	}
	for name := range strings.FieldsFuncSeq(c.String("in"), func(r rune) bool { return r == ',' || r == ' ' }) {
		kind, ok := search.KindNamed(name)
		if !ok {
			return q, fault.New(fault.Usage, "--in cannot be %q", name).Hint("use one or several of %s", strings.Join(search.Kinds(), ", "))
		}
		q.Kinds = append(q.Kinds, kind)
	}
	if q.SinceMs, err = arg.ParseSince(s, c); err != nil {
		return q, err
	}
	if q.Limit, err = arg.ParseLimit(c); c.IsSet("sql") && !c.IsSet("limit") {
		q.Limit = maxSQLHits
	}
	if err == nil {
		err = q.Check()
	}
	return q, err
}

// runSearch brings the index up to date, and prints the hits or, if sql is not "", the rows of that statement.
func runSearch(ctx context.Context, s *session.Session, store *timeline.Store, q search.Query, sql string) (err error) {
	if q.Run != "" {
		if q.Run, err = store.ResolveRun(ctx, q.Run); err != nil {
			return err
		}
	}
	index, err := search.Open(ctx, store)
	if err != nil {
		return err
	}
	defer func() { _ = index.Close() }() // it is a cache
	bar := s.Progress("indexing entries")
	problems, err := index.Sync(ctx, bar.Update)
	bar.Finish()
	if err != nil {
		return err
	}
	store.WarnOf(problems)
	if reason := index.InMemory(); reason != nil {
		s.Note("the search index cannot be stored, so each search reads all runs: %v", reason)
	}
	if sql != "" {
		return sqlHits(ctx, s, store, index.Search(ctx, q), sql)
	}
	return s.Paged(ctx, func() error { return printHits(ctx, s, index.Search(ctx, q), q.Limit) })
}

// sqlHits runs a statement in which the table hits has the lines with matches, and prints its rows.
func sqlHits(ctx context.Context, s *session.Session, store *timeline.Store, hits iter.Seq2[search.Hit, error], sql string) error {
	var rows [][]any
	n := 0
	for h, err := range hits {
		if err != nil {
			return err
		}
		n++
		for _, line := range h.Lines {
			if len(line.Marks) > 0 {
				rows = append(rows, []any{n, line.Number, h.Run, h.Frame, h.Kind.String(), h.Part, h.Key, h.AtMs, line.Text})
			}
		}
	}
	index, err := requests.WholeIndex(ctx, store)
	if err != nil {
		return err
	}
	answer, err := index.Query(ctx, sql, sqliteindex.Overlay{
		Table: "hits", New: true, Key: []string{"hit", "line"}, Columns: []string{"run_id", "frame_no", "kind", "part", "key", "at_ms", "text"},
		Count: len(rows), Row: func(i int) ([]any, error) { return rows[i], nil },
	})
	if errors.Is(err, sqliteindex.ErrQuery) {
		return fault.New(fault.InvalidQuery, "%w", err).
			Hint("the table hits has hit, line, run_id, frame_no, kind, part, key, at_ms and text; `%s sql --tables` lists the other tables", arg.Program)
	}
	if err != nil {
		return err
	}
	return printAnswer(ctx, s, answer, false)
}

// printHits prints hits.
func printHits(ctx context.Context, s *session.Session, hits iter.Seq2[search.Hit, error], limit int) error {
	p := s.Painter(ctx)
	n, first := 0, ""
	for h, err := range hits {
		if err == nil && s.JSON {
			err = s.WriteJSON(term.Document("hit", h))
		} else if err == nil {
			err = s.Printf("%s", hitText(s, p, h, n > 0))
		}
		if err != nil {
			return err
		}
		if n++; n == 1 {
			first = timeline.Address{Run: h.Run, Frame: h.Frame}.String()
		}
	}
	switch {
	case s.JSON:
		return nil
	case n == 0:
		s.Note("no hit")
		return nil
	case n == limit:
		s.Note("shown: the newest %s; --limit shows more", plain.Count(n, "hit"))
	}
	s.Note("`%s show %s` shows the frame of the first hit", arg.Program, fault.Word(first))
	return nil
}

// hitText returns a hit for people: a line that says where it is, and its lines. apart puts a blank line before it.
func hitText(s *session.Session, p term.Painter, h search.Hit, apart bool) string {
	var out strings.Builder
	if apart {
		out.WriteByte('\n')
	}
	place := ""
	if place = plain.Text(hitPlace(h)); place != "" {
		place += "  "
	}
	address := plain.Text(timeline.Address{Run: h.Run, Frame: h.Frame}.String())
	fmt.Fprintf(&out, "%s  %v  %s%s\n", p.Paint(term.Bold, address), h.Kind, place, p.Paint(term.Dim, display.Ago(s.Now(), h.AtMs)))
	safe := func(text string) string { return plain.Text(strings.ReplaceAll(text, "\t", "    ")) }
	for i, line := range h.Lines {
		if i > 0 && line.Number > h.Lines[i-1].Number+1 {
			out.WriteString(p.Paint(term.Dim, "      …") + "\n")
		}
		sign, at := " ", 0
		if len(line.Marks) > 0 {
			sign = ":"
		}
		out.WriteString(p.Paint(term.Dim, fmt.Sprintf("%6d%s", line.Number, sign)) + " ")
		for _, m := range line.Marks {
			out.WriteString(safe(line.Text[at:m[0]]) + p.Paint(term.Red, safe(line.Text[m[0]:m[1]])))
			at = m[1]
		}
		out.WriteString(strings.TrimRight(safe(line.Text[at:]), " ") + "\n")
	}
	if h.More > 0 {
		out.WriteString(p.Paint(term.Dim, "      and "+plain.Count(h.More, "more line")) + "\n")
	}
	if h.Later > 0 {
		out.WriteString(p.Paint(term.Dim, "      and in "+plain.Count(h.Later, "later version")+" of the file") + "\n")
	}
	return out.String()
}

// hitPlace says where in its frame a hit is: a task and its attempt, or a file.
func hitPlace(h search.Hit) string {
	table, isOutput := strings.CutPrefix(h.Part, snapshot.OutputCollection(""))
	switch node, iteration, err := snapshot.SplitKey(h.Key); {
	case h.Kind == search.Code && h.Part != "":
		return h.Key + " in the worktree of " + h.Part
	case h.Kind == search.Code:
		return h.Key
	case isOutput && err == nil && h.Kind == search.Outputs:
		return table + " of " + display.AttemptName(node, iteration)
	case isOutput && err == nil:
		return display.AttemptName(node, iteration)
	case h.Part == snapshot.CollectionLogs, h.Part == snapshot.CollectionAttempts:
		return display.AttemptKey(h.Key)
	case h.Part == snapshot.CollectionToolCalls:
		return display.AttemptKey(h.Key[:max(strings.LastIndex(h.Key, "::"), 0)])
	}
	return ""
}

package inspect

import (
	"context"
	"errors"
	"strconv"
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

// hitsShown is the preset of --limit.
const hitsShown = 20

// searchOptions has the options of search.
type searchOptions struct {
	query search.Query // its Run is the run as the command line names it
	sql   string       // the query for the hits; "" to show them
}

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

A hit names the first frame of a run that has the text, and where it is in the frame. A text that
many frames share is one hit of a run; a file that no task changed is one hit in all.

The first search reads all runs, and the next ones what is new. --sql runs one read-only SQL
statement in which the table hits has the lines that were found, beside the tables of
"git smithers sql": hit, line, run_id, frame_no, kind, node_id, path, at_ms, text.
"git smithers help searching" says what is left out.`,
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
		opts, err := parseSearch(s, cmd, c)
		if err != nil {
			return err
		}
		return s.WithStore(ctx, func(store *timeline.Store) error { return runSearch(ctx, s, store, opts) })
	}
	return cmd
}

// parseSearch reads the options from the command line.
func parseSearch(s *session.Session, cmd *arg.Command, c *urfave.Context) (opts searchOptions, err error) {
	opts = searchOptions{sql: c.String("sql"), query: search.Query{
		Texts: c.Args().Slice(), Regex: c.String("regex"), IgnoreCase: c.Bool("ignore-case"), Run: c.String("run"), Context: c.Int("context"),
	}}
	q := &opts.query
	switch {
	case (q.Regex == "") == (len(q.Texts) == 0):
		return opts, cmd.Misused("give texts or --regex")
	case q.IgnoreCase && q.Regex == "":
		return opts, cmd.Misused("-i is for --regex: texts ignore case")
	case q.Context < 0 || q.Context > maxContext:
		return opts, fault.New(fault.Usage, "--context cannot be %d", q.Context).Hint("use a number from 0 to %d", maxContext)
	}
	for name := range strings.SplitSeq(c.String("in"), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		kind, ok := search.KindNamed(name)
		if !ok {
			refused := fault.New(fault.Usage, "--in cannot be %q", name)
			return opts, refused.Hint("use one or several of %s", strings.Join(search.Kinds(), ", "))
		}
		q.Kinds = append(q.Kinds, kind)
	}
	if q.SinceMs, err = arg.ParseSince(s, c); err != nil {
		return opts, err
	}
	if q.Limit, err = arg.ParseLimit(c); opts.sql != "" && !c.IsSet("limit") {
		q.Limit = maxSQLHits
	}
	return opts, err
}

// maxContext is the largest number of --context.
const maxContext = 100

// runSearch brings the index up to date, and prints the hits.
func runSearch(ctx context.Context, s *session.Session, store *timeline.Store, opts searchOptions) (err error) {
	if opts.query.Run != "" {
		if opts.query.Run, err = store.ResolveRun(ctx, opts.query.Run); err != nil {
			return err
		}
	}
	if err := opts.query.Check(); err != nil {
		return err
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
	if opts.sql != "" {
		return sqlHits(ctx, s, store, index, opts)
	}
	if s.JSON {
		for hit, err := range index.Search(ctx, opts.query) {
			if err != nil {
				return err
			}
			if err := s.WriteJSON(newHitDocument(hit)); err != nil {
				return err
			}
		}
		return nil
	}
	return s.Paged(ctx, func() error { return printHits(ctx, s, index, opts.query) })
}

// maxSQLHits is the largest number of hits that --sql finds.
const maxSQLHits = 10_000

// sqlHits runs a query in which the table hits has the lines with matches, and prints its rows.
func sqlHits(ctx context.Context, s *session.Session, store *timeline.Store, texts *search.Index, opts searchOptions) error {
	opts.query.Context = 0
	var rows [][]any
	n := int64(0)
	for hit, err := range texts.Search(ctx, opts.query) {
		if err != nil {
			return err
		}
		n++
		at := placeOf(hit)
		for _, line := range hit.Lines {
			rows = append(rows, []any{
				n, line.Number, hit.Run, hit.Frame, hit.Kind.String(), display.OrNull(at.NodeID), display.OrNull(at.Path), hit.AtMs, line.Text,
			})
		}
	}
	index, err := requests.WholeIndex(ctx, store)
	if err != nil {
		return err
	}
	answer, err := index.Query(ctx, opts.sql, sqliteindex.Overlay{
		Table: "hits", New: true, Key: []string{"hit", "line"}, Columns: []string{"run_id", "frame_no", "kind", "node_id", "path", "at_ms", "text"},
		Count: len(rows), Row: func(i int) ([]any, error) { return rows[i], nil },
	})
	if errors.Is(err, sqliteindex.ErrQuery) {
		return fault.New(fault.InvalidQuery, "%w", err).
			Hint("the table hits has the columns hit, line, run_id, frame_no, kind, node_id, path, at_ms and text; `%s sql --tables` lists the other tables", arg.Program)
	}
	if err != nil {
		return err
	}
	if n == int64(opts.query.Limit) {
		s.Note("the table hits has the newest %s", plain.Count(int(n), "hit"))
	}
	return printAnswer(ctx, s, answer, false)
}

// printHits prints the hits for people, each below a line that says where it is.
func printHits(ctx context.Context, s *session.Session, index *search.Index, q search.Query) error {
	p := s.Painter(ctx)
	var first *search.Hit
	n := 0
	for hit, err := range index.Search(ctx, q) {
		if err != nil {
			return err
		}
		if first == nil {
			first = &hit
		} else if err := s.Printf("\n"); err != nil {
			return err
		}
		n++
		if err := s.Printf("%s", hitText(s, p, hit)); err != nil {
			return err
		}
	}
	if first == nil {
		s.Note("no hit")
		return nil
	}
	if n == q.Limit {
		s.Note("shown: the newest %s; --limit shows more", plain.Count(n, "hit"))
	}
	s.Note("`%s show %s` shows the frame of the first hit", arg.Program, fault.Word(addressOf(*first)))
	return nil
}

// hitText returns a hit for people.
func hitText(s *session.Session, p term.Painter, h search.Hit) string {
	var out strings.Builder
	out.WriteString(p.Paint(term.Bold, plain.Text(addressOf(h))) + "  " + h.Kind.String())
	if at := placeOf(h).text(); at != "" {
		out.WriteString("  " + plain.Text(at))
	}
	out.WriteString("  " + p.Paint(term.Dim, display.Ago(s.Now(), h.AtMs)) + "\n")
	width, last := 0, 0
	for _, line := range h.Lines {
		width = max(width, len(strconv.Itoa(line.Number)))
	}
	for _, line := range h.Lines {
		if last > 0 && line.Number > last+1 {
			out.WriteString(strings.Repeat(" ", 2) + p.Paint(term.Dim, "…") + "\n")
		}
		last = line.Number
		number := strconv.Itoa(line.Number)
		sign := " "
		if len(line.Marks) > 0 {
			sign = ":"
		}
		out.WriteString("  " + p.Paint(term.Dim, strings.Repeat(" ", width-len(number))+number+sign) + " " + markedText(p, line) + "\n")
	}
	if h.More > 0 {
		out.WriteString("  " + p.Paint(term.Dim, "and "+plain.Count(h.More, "more line")) + "\n")
	}
	return out.String()
}

// markedText returns a line of a hit, safe to show, with its matches in colour.
func markedText(p term.Painter, line search.Line) string {
	safe := func(text string) string { return plain.Text(strings.ReplaceAll(text, "\t", "    ")) }
	var out strings.Builder
	at := 0
	for _, m := range line.Marks {
		out.WriteString(safe(line.Text[at:m[0]]) + p.Paint(term.Red, safe(line.Text[m[0]:m[1]])))
		at = m[1]
	}
	return strings.TrimRight(out.String()+safe(line.Text[at:]), " ")
}

// addressOf returns the address of the frame of a hit.
func addressOf(h search.Hit) string { return timeline.Address{Run: h.Run, Frame: h.Frame}.String() }

// hitPlace says where in its frame a hit is. Members that do not apply are empty.
type hitPlace struct {
	Collection string `json:"collection,omitempty"` // of the row, such as logs or outputs/review
	NodeID     string `json:"nodeId,omitempty"`
	Iteration  *int   `json:"iteration,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	Key        string `json:"key,omitempty"` // of a row that belongs to no task
	Path       string `json:"path,omitempty"`
	Worktree   string `json:"worktree,omitempty"` // the task whose own worktree has the file
}

// placeOf returns where a hit is.
func placeOf(h search.Hit) hitPlace {
	if h.Kind == search.Code {
		return hitPlace{Path: h.Key, Worktree: h.Part}
	}
	at := hitPlace{Collection: h.Part}
	if node, iteration, attempt, _, err := snapshot.SplitToolCallKey(h.Key); err == nil && h.Part == snapshot.CollectionToolCalls {
		at.NodeID, at.Iteration, at.Attempt = node, &iteration, attempt
	} else if node, iteration, attempt, err := snapshot.SplitAttemptKey(h.Key); err == nil && (h.Part == snapshot.CollectionLogs || h.Part == snapshot.CollectionAttempts) {
		at.NodeID, at.Iteration, at.Attempt = node, &iteration, attempt
	} else if node, iteration, err := snapshot.SplitKey(h.Key); err == nil && h.Kind != search.Talk && h.Part != snapshot.CollectionTranscript && h.Part != snapshot.CollectionSignals {
		at.NodeID, at.Iteration = node, &iteration
	} else {
		at.Key = h.Key
	}
	return at
}

// text returns the place for people.
func (at hitPlace) text() string {
	var words []string
	if table, ok := strings.CutPrefix(at.Collection, snapshot.OutputCollection("")); ok && table != search.Prompts.String() {
		words = append(words, table)
	}
	if at.NodeID != "" {
		words = append(words, display.AttemptName(at.NodeID, *at.Iteration))
	}
	if at.Attempt > 0 && len(words) > 0 {
		words[len(words)-1] += ", attempt " + strconv.Itoa(at.Attempt)
	}
	if at.Path != "" {
		words = append(words, at.Path)
	}
	if at.Worktree != "" {
		words = append(words, "in the worktree of "+at.Worktree)
	}
	return strings.Join(words, " ")
}

// hitDocument is a line of search --json.
type hitDocument struct {
	Kind    string        `json:"kind"`
	In      string        `json:"in"`
	RunID   string        `json:"runId"`
	FrameNo int64         `json:"frameNo"`
	AtMs    int64         `json:"atMs"`
	Where   hitPlace      `json:"where"`
	Lines   []search.Line `json:"lines"`
	More    int           `json:"moreLines"` // lines with matches that lines has not
}

// newHitDocument returns the document of a hit.
func newHitDocument(h search.Hit) hitDocument {
	return hitDocument{"hit", h.Kind.String(), h.Run, h.Frame, h.AtMs, placeOf(h), h.Lines, h.More}
}

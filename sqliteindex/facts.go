package sqliteindex

import (
	"context"
	"encoding/json"

	"github.com/git-smithers/git-smithers/objstore"
)

// SpanRow is the time of an attempt. Times are Unix milliseconds.
type SpanRow struct {
	RunID        string
	StartedAtMs  int64
	FinishedAtMs *int64 // nil if the attempt has not ended
	Wait         bool   // the attempt is a wait for a person, a signal or a timer, and no work
}

const (
	// chosenRuns selects the runs whose ids are in a JSON array, the only argument.
	chosenRuns = ` run_id IN (SELECT value FROM json_each(?))`

	// An attempt that ran a process has an exit status, unless a signal ended it. A wait has a row in the mailbox.
	sqlSpans = `SELECT a.run_id, a.started_at_ms, a.finished_at_ms,
			a.state LIKE 'waiting-%' OR a.exit_status IS NULL AND (
				EXISTS (SELECT 1 FROM _smithers_approvals AS m WHERE m.run_id = a.run_id AND m.node_id = a.node_id AND m.iteration = a.iteration)
				OR EXISTS (SELECT 1 FROM _smithers_human_requests AS m WHERE m.run_id = a.run_id AND m.node_id = a.node_id AND m.iteration = a.iteration)
				OR EXISTS (SELECT 1 FROM _smithers_waits AS m WHERE m.run_id = a.run_id AND m.node_id = a.node_id AND m.iteration = a.iteration))
		FROM _index_attempts AS a WHERE a.` + chosenRuns
	sqlEnds = `SELECT s.run_id, s.frame_no = 0, s.created_at_ms, coalesce(s.tree_id, '')
		FROM _smithers_snapshots AS s JOIN _smithers_runs AS r USING (run_id) WHERE s.frame_no = 0
		UNION ALL
		SELECT s.run_id, 0, s.created_at_ms, coalesce(s.tree_id, '')
		FROM _smithers_snapshots AS s JOIN _smithers_runs AS r ON r.run_id = s.run_id AND r.latest_frame = s.frame_no`
	sqlOwnCommits = `SELECT run_id, commit_id FROM _smithers_snapshots WHERE vcs_root <> '' AND commit_id IS NOT NULL
		UNION SELECT run_id, commit_id FROM _index_attempts WHERE worktree <> '' AND commit_id IS NOT NULL`
	// Each task counts once, by its newest attempt that the scorer has scored.
	sqlScoreMeans = `SELECT run_id, scorer_id, count(*), avg(score) FROM (
			SELECT run_id, scorer_id, score, row_number() OVER (PARTITION BY run_id, scorer_id, node_id, iteration ORDER BY attempt DESC, scored_at_ms DESC) AS nth
			FROM _smithers_scorers WHERE` + chosenRuns + `)
		WHERE nth = 1 GROUP BY 1, 2 ORDER BY 1, 2`
	sqlInputs = `SELECT run_id, payload FROM input WHERE length(payload) <= ?2 AND run_id IN (SELECT value FROM json_each(?1))`
)

// Spans returns the times of the attempts of the given runs, in no particular order. It needs the details of these runs.
func (x *Index) Spans(ctx context.Context, runIDs []string) ([]SpanRow, error) {
	return listOf[SpanRow](ctx, x, runIDs, sqlSpans)
}

// ScoreMeanRow is the mean of the scores that a scorer gave the tasks of a run.
type ScoreMeanRow struct {
	RunID, Scorer string
	Count         int64 // of the tasks
	Mean          float64
}

// ScoreMeans returns the means of the scores of the given runs, sorted by run and scorer. It needs the details of these runs.
func (x *Index) ScoreMeans(ctx context.Context, runIDs []string) ([]ScoreMeanRow, error) {
	return listOf[ScoreMeanRow](ctx, x, runIDs, sqlScoreMeans)
}

// listOf is list of the details of the given runs, whose ids are the first parameter of the query.
func listOf[T any](ctx context.Context, x *Index, runIDs []string, query string, args ...any) ([]T, error) {
	d, asked, err := x.detailsOf(ctx, runIDs)
	if err != nil {
		return nil, err
	}
	return list[T](ctx, d, query, append([]any{asked}, args...)...)
}

// detailsOf returns the details of the index, and the run ids as a JSON array.
func (x *Index) detailsOf(ctx context.Context, runIDs []string) (d *Index, asked string, err error) {
	text, _ := json.Marshal(runIDs) //nolint:errchkjson // texts encode always
	d, err = x.openDetails(ctx)
	return d, string(text), err
}

// CommitRow is a commit on which a working copy of a run's or a task's own was when it was captured.
type CommitRow struct{ RunID, Commit string }

// OwnCommits returns the commits of the own working copies of every run, in no particular order.
func (x *Index) OwnCommits(ctx context.Context) ([]CommitRow, error) {
	return list[CommitRow](ctx, x, sqlOwnCommits)
}

// EndRow is the first or the newest frame of a run.
type EndRow struct {
	RunID       string
	First       bool // frame 0, and not the newest frame
	CreatedAtMs int64
	Tree        objstore.ID // the captured files; zero if no files were captured
}

// Ends returns frame 0 and the newest frame of every run, in no particular order.
func (x *Index) Ends(ctx context.Context) ([]EndRow, error) {
	return list[EndRow](ctx, x, sqlEnds)
}

// ValueRow is the input of a run, or the newest output of a run in a table.
type ValueRow struct {
	RunID string
	Value json.RawMessage
}

// Inputs returns the inputs of the given runs, in no particular order. It leaves out inputs above limit characters. It needs the
// details of these runs.
func (x *Index) Inputs(ctx context.Context, runIDs []string, limit int) ([]ValueRow, error) {
	return listOf[ValueRow](ctx, x, runIDs, sqlInputs, limit)
}

// OutputKeys returns the schema keys of all output tables, sorted by the name of the table. A key can occur more than once.
func (x *Index) OutputKeys(ctx context.Context) (keys []string, err error) {
	d, err := x.openDetails(ctx)
	if err != nil {
		return nil, err
	}
	err = d.answer(ctx, func(db *database) error {
		tables, err := readCatalog(ctx, db)
		keys = nil
		for _, t := range tables {
			keys = append(keys, t.key)
		}
		return err
	})
	return keys, err
}

// NewestOutputs returns the newest output of each of the given runs with a schema key: that of the node that changed last. It leaves out
// outputs above limit characters. It needs the details of these runs.
func (x *Index) NewestOutputs(ctx context.Context, key string, runIDs []string, limit int) (out []ValueRow, err error) {
	d, asked, err := x.detailsOf(ctx, runIDs)
	if err != nil {
		return nil, err
	}
	err = d.answer(ctx, func(db *database) error {
		out = nil
		tables, err := readCatalog(ctx, db)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if t.key != key {
				continue
			}
			rows, err := collect[ValueRow](ctx, db, `SELECT run_id, value FROM (
					SELECT o.run_id, o.`+textColumn+` AS value, row_number() OVER (PARTITION BY o.run_id
						ORDER BY coalesce(n.updated_at_ms, 0) DESC, o.iteration DESC, o.node_id DESC) AS place
					FROM `+quoted(t.name)+` AS o LEFT JOIN _smithers_nodes AS n USING (run_id, node_id, iteration)
					WHERE o.`+chosenRuns+`)
				WHERE place = 1 AND length(value) <= ?`, asked, limit)
			if err != nil {
				return err
			}
			out = append(out, rows...)
		}
		return nil
	})
	return out, err
}

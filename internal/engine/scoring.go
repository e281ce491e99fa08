package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/git-smithers/git-smithers/internal/engine/sandbox"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// gated returns the outcome after the task's scorers with a gate have scored it. The outcome is a failure if one of the gates is closed.
func (j *job) gated(ctx context.Context, out outcome) outcome {
	gates := slices.DeleteFunc(slices.Clone(j.task.Scorers), func(s *workflow.Scorer) bool { return s.Gate == nil })
	if out.failed != nil || len(gates) == 0 {
		return out
	}
	ended := j.opts.Now().UnixMilli()
	of := snapshot.Attempt{NodeID: j.key.ID, Iteration: j.key.Iteration, Attempt: j.attempt, StartedAtMs: j.startedAtMs, FinishedAtMs: &ended}
	for _, s := range gates {
		if out.failed != nil {
			break
		}
		one, err := j.scoring(s, of, out)
		if err != nil {
			out.failed = &reason{reasonGate, "scorer " + s.Name + ": " + err.Error()}
			return out
		}
		one.dir = j.dir
		end := one.execute(ctx)
		out.scores = append(out.scores, end)
		out.failed = end.closedGate()
	}
	return out
}

// scoring returns the execution of a scorer on the outcome of the job. The caller sets where it runs.
func (j *job) scoring(s *workflow.Scorer, of snapshot.Attempt, out outcome) (*scoring, error) {
	env := taskEnv(j.opts.Env, j.task, j.runID, j.key, j.attempt, "", resultFiles{})
	one, err := newScoring(s, snapshot.ScoreLive, j.runID, of, env, j.input, out.output, j.opts)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	one.sandbox = j.task.Sandbox
	one.given = append(taskEnv(nil, j.task, j.runID, j.key, j.attempt, "", resultFiles{}), scorerVariable+"="+s.Name)
	if live := j.live.stream(j.key.Name(j.task) + " " + s.Name); live != nil {
		one.stderr = live
	}
	return one, nil
}

// noteScores records the scores of gates in r.next and, if the attempt finished, the scorers to run when r.next is committed. a is the
// attempt as it began.
func (r *runner) noteScores(out outcome, a snapshot.Attempt) {
	for _, end := range out.scores {
		r.next.event("ScorerStarted", payloadOf(end.scoring))
		r.next.score(end)
	}
	if out.failed != nil {
		return
	}
	ended := r.next.atMs
	a.FinishedAtMs = &ended
	for _, s := range out.job.task.Scorers {
		if s.Gate != nil || !workflow.Sampled(s.Rate, r.runID, a.NodeID, a.Iteration, a.Attempt, s.Name) {
			continue
		}
		one, err := out.job.scoring(s, a, out)
		if err != nil {
			r.opts.Warn(fmt.Errorf("task %s: scorer %s: %w", a.NodeID, s.Name, err))
			continue
		}
		if one.dir = out.job.dir; one.dir == "" {
			one.dir = r.opts.WorkDir
		}
		r.next.event("ScorerStarted", payloadOf(one))
		r.next.scorings = append(r.next.scorings, one)
	}
}

// payloadOf returns the payload of the events of a scoring.
func payloadOf(s *scoring) payload {
	return payload{NodeID: s.of.NodeID, Iteration: &s.of.Iteration, Attempt: s.of.Attempt, ScorerID: s.scorer.Name, ScorerName: s.scorer.Name}
}

// score records the end of a scoring.
func (d *draft) score(end scored) {
	p := payloadOf(end.scoring)
	if end.err != nil {
		p.Error = end.err.Error()
		d.event("ScorerFailed", p)
		return
	}
	p.Score = end.score.Score
	d.journal = append(d.journal, snapshot.SetScore(end.score))
	d.event("ScorerFinished", p)
}

// launchScorers begins the scorers of the attempts that ended with the frame that was just committed, on the files of that frame.
func (r *runner) launchScorers(scorings []*scoring) {
	for _, one := range scorings {
		if read, ok := r.read[one.of.Worktree]; ok && r.opts.Extract != nil {
			one.tree = read.Tree
		}
		r.launch(one)
	}
}

// commitScores appends the scores of the scorers that have ended, as an entry that is no frame.
func (r *runner) commitScores(ctx context.Context) error {
	ended := r.scores.take()
	if len(ended) == 0 || r.tip.isLost() {
		return nil
	}
	err := r.appendScores(ctx, ended, r.checkTip)
	if err == nil {
		r.tip.accept()
	}
	return err
}

// appendScores appends the ends of scorings to the run and warns about those without a score. check is called before each further try
// if another process moves the tip.
func (r *runner) appendScores(ctx context.Context, ended []scored, check func() error) error {
	r.warnUnscored(ended)
	r.tip.appends++
	return r.tip.update(context.WithoutCancel(ctx), check, func() (snapshot.Draft, error) {
		d, err := draftOfScores(r.runID, ended, &r.opts)
		d.Operation = r.tip.operation()
		return d, err
	})
}

// draftOfScores returns the entry for the ends of scorings of a run.
func draftOfScores(run string, ended []scored, opts *Options) (snapshot.Draft, error) {
	d := newDraft(run, opts.Now())
	for _, end := range ended {
		d.score(end)
		verb := "gave no score"
		if end.err == nil {
			verb = "gave " + end.score.NodeID + " " + string(end.score.Score)
		}
		d.say(end.scorer.Name, verb)
	}
	if d.err != nil {
		return snapshot.Draft{}, timeline.Explain(d.err)
	}
	return snapshot.Draft{Journal: d.journal, Events: d.events, Subject: d.subject(), AtMs: d.atMs}, nil
}

// warnUnscored warns about scorers that gave no score, unless they were cancelled.
func (r *runner) warnUnscored(ended []scored) {
	for _, end := range ended {
		if end.err != nil && !errors.Is(end.err, errCancelled) {
			r.opts.Warn(fmt.Errorf("task %s: scorer %s gave no score: %w", end.of.NodeID, end.scorer.Name, end.err))
		}
	}
}

// awaitScorers waits for the scorers that still run after the run has ended or has begun to wait, and appends their scores. The run's
// own end does not depend on them, so a score that cannot be appended is a warning. When ctx ends, it calls stop, which ends them.
func (r *runner) awaitScorers(ctx context.Context, stop func(error)) {
	r.tellScorers()
	done := ctx.Done()
	for r.scores.open > 0 {
		select {
		case <-done:
			stop(errCancelled)
			done = nil
		case <-r.scores.news:
			if ended := r.scores.take(); len(ended) > 0 {
				// Another process may continue the run now. A score changes no state, so it may be appended all the same.
				if err := r.appendScores(ctx, ended, func() error { return nil }); err != nil {
					r.opts.Warn(fmt.Errorf("%s could not be stored: %w", plain.Count(len(ended), "score"), err))
				}
			}
		}
	}
}

// tellScorers shows people that the process waits for scorers.
func (r *runner) tellScorers() {
	if live := r.live.stream("scorers"); live != nil && r.scores.open > 0 {
		_, _ = fmt.Fprintf(live, "waiting for %s\n", plain.Count(r.scores.open, "scorer"))
		live.flush()
	}
}

// ScoreRequest asks for scores of attempts after the fact.
type ScoreRequest struct {
	Run      string
	Scorer   *workflow.Scorer
	Attempts []ScoredAttempt
	Parallel int // the scorers that may run at a time
	// Told is called after each scorer, from the goroutine of Score, once its score is stored.
	Told func(a snapshot.Attempt, score snapshot.Score, err error)
}

// ScoredAttempt is an attempt to score, with what its scorer is given.
type ScoredAttempt struct {
	snapshot.Attempt

	Input, Output []byte // JSON; nil if there is none
}

// Score runs a scorer on attempts, each in a new folder with the files of the attempt, and appends the scores to the run. Of opts, it uses
// Now, Env, Grace, Hurry, Extract, Sandbox, SandboxRequired and NoHooks. An attempt without files has an empty folder. A scorer that gives no score stops nothing: its error
// goes to Told. When ctx ends, Score ends the scorers, and returns the code run_cancelled.
func Score(ctx context.Context, rec Recorder, req ScoreRequest, opts Options) error {
	opts = opts.withDefaults()
	queue := newScoreQueue(max(req.Parallel, 1))
	defer queue.workers.Wait()
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(errCancelled)
	defer context.AfterFunc(ctx, func() { stop(errCancelled) })()
	for _, a := range req.Attempts {
		one, err := newScoring(req.Scorer, snapshot.ScoreBatch, req.Run, a.Attempt, scorerEnv(opts.Env, req.Run, a.Attempt), a.Input, a.Output, &opts)
		if err != nil {
			return timeline.Explain(err)
		}
		one.tree, one.scratch = a.Tree, true
		if opts.SandboxRequired {
			one.sandbox = &sandbox.Spec{}
			one.given = append(scorerEnv(nil, req.Run, a.Attempt), scorerVariable+"="+req.Scorer.Name)
		}
		queue.launch(work, one)
	}
	for queue.open > 0 {
		<-queue.news
		ended := queue.take()
		if len(ended) == 0 {
			continue
		}
		err := rec.Update(context.WithoutCancel(ctx), func() (*snapshot.Draft, error) {
			d, err := draftOfScores(req.Run, ended, &opts)
			return &d, err
		})
		if err != nil {
			return err
		}
		for _, end := range ended {
			req.Told(end.of, end.score, end.err)
		}
	}
	if ctx.Err() != nil {
		return fault.New(fault.RunCancelled, "the scorer was stopped").Hint("the scores that it gave before are stored")
	}
	return nil
}

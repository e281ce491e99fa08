package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/engine"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/internal/files"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// scores returns the scores at the tip as lines: key, score and reason.
func (s *scratch) scores() (lines []string) {
	s.t.Helper()
	for score, err := range s.tip().AllScores() {
		require.NoError(s.t, err)
		key := snapshot.ScoreKey(score.NodeID, score.Iteration, score.Attempt, score.Source, score.ScorerID)
		lines = append(lines, strings.TrimSpace(key+" "+string(score.Score)+" "+score.Reason))
	}
	return lines
}

// scoring is a run with one task and the given scorers, which warns into the result.
func scoring(t *testing.T, task, scorers string) (*scratch, *[]string) {
	t.Helper()
	s := newScratch(t, "{name: w, outputs: {t: {}}, tasks: [{id: a, output: t, "+task+", scorers: ["+scorers+"]}]}", `{"x":1}`)
	warned := new([]string)
	s.opts.Warn = func(err error) { *warned = append(*warned, err.Error()) }
	return s, warned
}

func TestAScorerGetsTheResultAndGivesAScore(t *testing.T) {
	t.Parallel()
	s, warned := scoring(t, `run: 'echo "{\"v\":2}"'`,
		`{name: judge, run: 'cat >given; echo $SMITHERS_SCORER $SMITHERS_NODE_ID >env; echo "{\"score\":0.90,\"reason\":\"fine\",\"meta\":{\"a\":1}}"'}, {name: plain, run: echo -3e2}`)
	_, err := s.run()
	require.NoError(t, err)
	assert.Empty(t, *warned)
	assert.Equal(t, []string{"a::0::1::live::judge 0.90 fine", "a::0::1::live::plain -3e2"}, s.scores())
	assert.JSONEq(t, `{"run":"r","node":"a","iteration":0,"attempt":1,"scorer":"judge","input":{"x":1},"output":{"v":2}}`, s.read("given"))
	assert.Equal(t, "judge a\n", s.read("env"))
	for score, err := range s.tip().AllScores() {
		require.NoError(t, err)
		if score.ScorerID == "judge" {
			assert.JSONEq(t, `{"a":1}`, string(score.Meta))
		}
		assert.NotNil(t, score.DurationMs)
		assert.NotNil(t, score.LatencyMs)
	}
	assert.Equal(t, snapshot.RunFinished, s.tipRow().Status)
	assert.Contains(t, strings.Join(s.events(), " "), "NodeFinished ScorerStarted ScorerStarted")
}

func TestAScorerThatGivesNoScoreFailsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ scorer, why string }{
		"no number":     {`{name: j, run: echo good}`, "it prints no score: not JSON"},
		"nothing":       {`{name: j, run: 'true'}`, "it prints no score: the text is empty"},
		"a text":        {`{name: j, run: 'echo "{\"score\":\"0.5\"}"'}`, `it prints no score: print a number, or {"score": NUMBER, "reason": TEXT}`},
		"not finite":    {`{name: j, run: echo 1e999}`, "it prints no score: print a number"},
		"a wrong type":  {`{name: j, run: 'echo "{\"score\":1,\"reason\":2}"'}`, "it prints no score: json: "},
		"a failure":     {`{name: j, run: 'echo first >&2; echo why >&2; exit 3'}`, "exit status 3: why"},
		"a signal":      {`{name: j, run: 'kill -KILL $$'}`, "it was ended by signal: killed"},
		"a hang":        {`{name: j, run: 'read forever <fifo', timeout: 20ms}`, "it gives no score within 20ms"},
		"endless":       {`{name: j, run: 'yes'}`, "it prints more than 1048576 bytes"},
		"a large meta":  {`{name: j, run: 'printf "{\"score\":1,\"meta\":\"%070000d\"}" 1'}`, "the meta that it prints is larger than 65536 bytes"},
		"no such thing": {`{name: j, run: ./missing}`, "exit status 127"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, warned := scoring(t, `run: 'echo 1'`, c.scorer+`, {name: other, run: echo 1}`)
			s.fifo("fifo")
			_, err := s.run()
			require.NoError(t, err, "the run is as it would be without")
			assert.Equal(t, []string{"a::0::1::live::other 1"}, s.scores())
			require.Len(t, *warned, 1)
			assert.Contains(t, (*warned)[0], "task a: scorer j gave no score: "+c.why)
			assert.Contains(t, s.events(), "ScorerFailed")
		})
	}
}

func TestAGateFailsTheAttempt(t *testing.T) {
	t.Parallel()
	s, _ := scoring(t, `run: 'echo x >>tries; echo 1', retries: 1`, `{name: size, run: 'echo "{\"score\":$(grep -c x tries),\"reason\":\"of two\"}"', gate: ">= 2"}`)
	_, err := s.run()
	require.NoError(t, err, "the second attempt passes")
	assert.Equal(t, []string{"a::0::1::live::size 1 of two", "a::0::2::live::size 2 of two"}, s.scores())
	assert.Equal(t, "gate: scorer size gave 1, and its gate is >= 2: of two", s.attempts()["a::0::1"].Error)
	assert.Equal(t, snapshot.AttemptFinished, s.attempts()["a::0::2"].State)
}

func TestWithoutAScoreAGateIsClosed(t *testing.T) {
	t.Parallel()
	s, _ := scoring(t, `run: 'echo 1'`, `{name: j, run: exit 1, gate: ">= 2"}, {name: k, run: echo 2 >later, gate: "> 0"}, {name: beside, run: echo 2 >later}`)
	_, err := s.run()
	assert.Equal(t, "run r failed: a: scorer j: exit status 1", fails(t, fault.RunFailed, err))
	assert.Empty(t, s.scores())
	assert.Empty(t, s.read("later"), "what failed needs no more scores")
	assert.Empty(t, s.outputs("t"))
	assert.Contains(t, s.events(), "ScorerFailed")
}

func TestAFailedAttemptIsNotScored(t *testing.T) {
	t.Parallel()
	s, _ := scoring(t, `run: exit 1`, `{name: j, run: echo 1 >later, gate: "> 0"}, {name: k, run: echo 1 >later}`)
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Empty(t, s.scores())
	assert.Empty(t, s.read("later"))
}

func TestARateSelectsAttempts(t *testing.T) {
	t.Parallel()
	var tasks, want []string
	for i := range 20 {
		id := fmt.Sprintf("t%02d", i)
		tasks = append(tasks, "{id: "+id+", run: 'true'}")
		if workflow.Sampled(0.3, "r", id, 0, 1, "some") {
			want = append(want, id+"::0::1::live::some 1")
		}
	}
	require.NotEmpty(t, want)
	require.Less(t, len(want), 20)
	s := newScratch(t, "{name: w, scorers: [{name: some, run: echo 1, rate: 0.3}], tasks: ["+strings.Join(tasks, ", ")+"]}", "")
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, want, s.scores())
}

func TestScorersDoNotHoldTheRunUp(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [
		{id: a, run: 'true', scorers: [{name: slow, run: 'read x <fifo; echo $x'}]},
		{id: b, needs: [a], run: 'echo 7 >fifo'}]}`, "")
	s.fifo("fifo")
	_, err := s.run()
	require.NoError(t, err, "b runs while a is being scored")
	assert.Equal(t, []string{"a::0::1::live::slow 7"}, s.scores())
}

func TestTheProcessWaitsForScorersOfAnEndedRun(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true', scorers: [{name: slow, run: 'read x <fifo; echo $x'}]}]}`, "")
	s.fifo("fifo")
	s.before = func(d snapshot.Draft) {
		if strings.HasSuffix(d.Subject, "run finished") {
			go func() { _ = os.WriteFile(filepath.Join(s.dir, "fifo"), []byte("3\n"), 0) }()
		}
	}
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"a started", "a finished", "run finished", "slow gave a 3"}, s.subjects())
	assert.Equal(t, []string{"a::0::1::live::slow 3"}, s.scores())
	assert.Equal(t, snapshot.RunFinished, s.tipRow().Status)
}

func TestCancellingEndsScorers(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true', scorers: [{name: slow, run: 'echo $$ >child; echo ready >&2; read x <fifo'}]}]}`, "")
	s.fifo("fifo")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.opts.Log = onLine{"a slow| ready", cancel}
	_, err := s.runWithin(ctx)
	if err != nil { // the scorer may have begun before the run's last frame
		fails(t, fault.RunCancelled, err)
	}
	s.gone("child")
	assert.Empty(t, s.scores())
	assert.Equal(t, snapshot.NodeFinished, s.states()["a::0"])
}

func TestAScorerSeesTheFilesOfItsFrame(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [
		{id: a, run: 'echo 5 >file', scorers: [{name: files, run: 'read x <"$TOP/fifo"; pwd >"$TOP/folders"; cat file'}]},
		{id: b, needs: [a], run: 'echo 6 >file; echo >fifo'}]}`, "")
	s.fifo("fifo")
	s.opts.Env = append(s.opts.Env, "TOP="+s.dir)
	s.opts.WorkingCopy = s.folder()
	s.opts.Extract = func(ctx context.Context, tree objstore.ID, dir string) error {
		return files.Extract(ctx, &s.objects, tree, dir)
	}
	_, err := s.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"a::0::1::live::files 5"}, s.scores(), "although b has changed the file by then")
	folder := strings.TrimSpace(s.read("folders"))
	require.NotEmpty(t, folder)
	assert.NoDirExists(t, folder)
}

func TestScoresAfterTheFact(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true'}, {id: b, run: 'true'}]}`, "")
	_, err := s.run()
	require.NoError(t, err)
	var told []string
	req := engine.ScoreRequest{
		Run: "r", Parallel: 2,
		Scorer: &workflow.Scorer{Name: "judge", Run: `cat >/dev/null; ls; [ $SMITHERS_NODE_ID = a ] && echo 0.5`, Timeout: time.Minute},
		Told: func(a snapshot.Attempt, score snapshot.Score, err error) {
			told = append(told, fmt.Sprint(a.NodeID, " ", string(score.Score), " ", err))
		},
	}
	for _, key := range []string{"a::0::1", "b::0::1"} {
		req.Attempts = append(req.Attempts, engine.ScoredAttempt{Attempt: s.attempts()[key], Output: []byte("1")})
	}
	require.NoError(t, engine.Score(t.Context(), s.open(t), req, s.opts))
	assert.ElementsMatch(t, []string{"a 0.5 <nil>", "b  exit status 1"}, told)
	assert.Equal(t, []string{"a::0::1::batch::judge 0.5"}, s.scores())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, "the scorer was stopped", fails(t, fault.RunCancelled, engine.Score(ctx, s.open(t), req, s.opts)))
}

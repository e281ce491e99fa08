package engine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/timeline/fault"
)

func TestAfterAFailureThePlainRetryIsNamedFirst(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: a, run: 'true'}, {id: b, needs: [a], run: 'exit 3'}]}`, "")
	s.opts.WorkflowFile = "sub folder/w.yaml"
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Equal(t, []string{
		"`git smithers resume r` retries the failed tasks",
		"`git smithers logs r b` shows the task's log",
		"`git smithers replay 'sub folder/w.yaml' r:2` retries the task in a fork, with a repaired workflow or another --input",
	}, hints(err))
	assert.Equal(t, "a finished", s.frame(2).Subject)
}

func TestWithoutAWorkflowFileAFailureNamesTheReplayOfTheFrameItself(t *testing.T) {
	t.Parallel()
	s := newScratch(t, `{name: w, tasks: [{id: b, run: 'exit 3'}]}`, "")
	_, err := s.run()
	fails(t, fault.RunFailed, err)
	assert.Equal(t, "`git smithers replay r:0` retries the task in a fork; --input changes the run's input", hints(err)[2])
}

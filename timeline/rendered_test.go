package timeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/repotest"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// tree is a rendered workflow, in its one form, in which a text tells how far it is.
func tree(i int) string {
	tasks := make([]string, 20)
	for n := range tasks {
		tasks[n] = fmt.Sprintf(`{"kind":"element","tag":"smithers:task","props":{"id":"task-%d"},"children":[]}`, n)
	}
	return fmt.Sprintf(`{"kind":"element","tag":"smithers:workflow","props":{"name":"w"},"children":[%s,{"kind":"text","text":"step %d"}]}`,
		strings.Join(tasks, ","), i)
}

// encodingOf is what the first line of a frame's blob says, without its sums.
func encodingOf(repo *repotest.Repo, ref string) string {
	line, _, _ := strings.Cut(repo.Git("show", ref+":frame"), "\n")
	fields := strings.Fields(line)
	return strings.Join(fields[:min(2, len(fields))], " ")
}

// renderedIn is the rendered tree of a frame as a process reads it that has just begun.
func renderedIn(t *testing.T, repo *repotest.Repo, address string) string {
	t.Helper()
	s, err := timeline.Open(t.Context(), timeline.Options{Dir: repo.Dir, Env: repo.Env, Now: clock()})
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	loaded, err := s.Load(t.Context(), address)
	require.NoError(t, err)
	got, err := s.Rendered(loaded.Entry)
	require.NoError(t, err)
	return string(got)
}

// A line of forks, each 30 frames beyond its parent, has a whole tree every 50
// frames all the same, wherever the forks are, and every frame is what was rendered.
func TestDeltasThatCrossForksAreBoundedByTheChain(t *testing.T) {
	t.Parallel()
	const forks, frames = 5, 30
	repo := repotest.New(t, repotest.Commit)
	s := open(t, repo)
	ctx := context.Background()
	head, err := s.Create(ctx, snapshot.Run{ID: "run-0", Status: snapshot.RunRunning}, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(tree(0))}})
	require.NoError(t, err)
	for i := 1; i < forks*frames; i++ {
		if i%frames == 0 {
			child := fmt.Sprintf("run-%d", i/frames)
			req := timeline.ForkRequest{From: head.Row().ID, RunID: child}
			if i%(2*frames) == 0 {
				req.Input = []byte(`{"other":true}`) // this fork has a frame 0 of its own
			}
			head, err = s.Fork(ctx, req)
			require.NoError(t, err)
		}
		require.NoError(t, head.Append(ctx, snapshot.Draft{Frame: &snapshot.FrameDraft{Rendered: []byte(tree(i))}}))
	}

	for i := range forks * frames {
		run, frame := i/frames, i%frames
		if run > 0 {
			frame++ // frame 0 is where the run was forked
		}
		want := fmt.Sprintf("delta %d", i%50)
		switch {
		case i == 0:
			want = "full 0"
		case i%50 == 0:
			want = "keyframe 0"
		}
		assert.Equal(t, want, encodingOf(repo, fmt.Sprintf("refs/smithers/run-%d/%d", run, frame)), "tree %d", i)
	}
	for _, i := range []int{0, 29, 30, 49, 50, 59, 60, 89, 99, 100, 149} {
		run, frame := i/frames, i%frames
		if run > 0 {
			frame++
		}
		assert.Equal(t, tree(i), renderedIn(t, repo, fmt.Sprintf("run-%d:%d", run, frame)), "tree %d", i)
	}
	assert.Equal(t, tree(59), renderedIn(t, repo, "run-2:0"), "a fork's frame 0 has its parent's tree")
}

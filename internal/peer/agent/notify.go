package agent

import (
	"cmp"
	"context"

	"github.com/git-smithers/git-smithers/internal/notify"
	"github.com/git-smithers/git-smithers/internal/peer/agent/dialect"
	"github.com/git-smithers/git-smithers/internal/plain"
	"github.com/git-smithers/git-smithers/timeline"
)

// maxSaid is the number of bytes of an agent's answer that a notice has.
const maxSaid = 500

// tellEnd calls h.Ended if the session has ended.
func (h Hook) tellEnd(ctx context.Context, s *timeline.Store, run string, kind dialect.Kind) {
	if h.Ended == nil || kind != dialect.Ended {
		return
	}
	head, err := s.Head(ctx, run)
	if err == nil {
		err = h.Ended(s, head)
	}
	if err != nil {
		s.Warn(err)
	}
}

// tell notifies the user if the session has ended, or if the agent has answered and waits for the next prompt. The hook
// does not wait for the user's command. run is the session's run, and kind is the event that was recorded.
func (h Hook) tell(ctx context.Context, s *timeline.Store, run string, kind dialect.Kind) {
	if h.Courier == nil || kind != dialect.Answered && kind != dialect.Ended || !notify.Wanted(s) {
		return
	}
	head, err := s.Head(ctx, run)
	if err != nil {
		s.Warn(err)
		return
	}
	event := notify.Waits
	if kind == dialect.Ended {
		event = notify.Finished
	}
	n := notify.Of(head.Row(), event, h.Now().UnixMilli())
	if n.Folder = s.Workspace().Root; n.Folder == "" {
		n.Folder = s.Repo().CommonDir
	}
	if event == notify.Waits {
		wait, err := waitFor(head)
		if err != nil {
			s.Warn(err)
			return
		}
		n.Waiting = append(n.Waiting, wait)
	}
	notify.Tell(ctx, s, h.Courier, n)
}

// waitFor returns the wait for the prompt that follows the newest turn of a session.
func waitFor(head *timeline.Head) (notify.Wait, error) {
	mem, err := memoryOf(head.Entry())
	if err != nil {
		return notify.Wait{}, err
	}
	wait := notify.Wait{NodeID: turnNode, Iteration: mem.Turn, Attempt: 1, For: "prompt"}
	prompt, answer, err := PromptOf(head.State(), mem.Turn)
	if err != nil {
		return wait, err
	}
	wait.What = plain.Cut(cmp.Or(answer, prompt), maxSaid)
	return wait, nil
}

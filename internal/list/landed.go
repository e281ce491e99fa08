package list

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// frameTrailer begins the line of a commit's message that names the frame that the commit landed.
const frameTrailer = "Smithers-Frame: "

// worktreeTrailer begins the line after it that names the task whose own worktree was landed.
const worktreeTrailer = "Smithers-Worktree: "

// mostLanded is the largest number of frames that one commit names.
const mostLanded = 100

// landedBy returns the frames that a commit has landed, as its message says. text is the commit, as in FrameQuery. Frames
// that this repository does not have are left out.
func landedBy(ctx context.Context, s *timeline.Store, text string) ([]FrameMatch, error) {
	commit, err := jjbridge.ResolveCommit(ctx, s.Workspace(), text)
	if err != nil || commit == "" {
		return nil, timeline.Explain(err)
	}
	id, err := objstore.ParseID(commit)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	data, err := objstore.GetKind(s.Objects(), id, objstore.Commit)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, timeline.Explain(err)
	}
	_, message, _ := strings.Cut(string(data), "\n\n")
	var out []FrameMatch
	for _, landed := range LandedFrames(message) {
		at, err := s.LoadFor(ctx, landed.Address, timeline.ToChange) // the whole id
		if known, ok := errors.AsType[*fault.Error](err); ok && known.Exit() != fault.ExitBug {
			continue // the run is not here, or the line names none
		}
		if err != nil {
			return nil, err
		}
		match, err := matchOf(at.Entry)
		if err != nil {
			return nil, timeline.Explain(err)
		}
		match.RunID, match.FrameNo, match.Landed = at.Address.Run, at.Address.Frame, true
		out = append(out, match)
	}
	return out, nil
}

// A LandedFrame is a frame that a commit has landed, as the commit's message names it.
type LandedFrame struct {
	Address   string
	Worktrees []string // the tasks whose own worktrees were landed; empty means the run's working copy
}

// LandedFrames returns the frames that the message of a commit names: at most 100, with at most 100 worktrees together. Anybody can write such
// a message.
func LandedFrames(message string) []LandedFrame {
	message = strings.TrimSpace(message)
	var out []LandedFrame
	worktrees := 0
	for line := range strings.SplitSeq(message[strings.LastIndex(message, "\n\n")+1:], "\n") {
		if address, ok := strings.CutPrefix(line, frameTrailer); ok {
			if len(out) == mostLanded {
				break
			}
			out = append(out, LandedFrame{Address: strings.TrimSpace(address)})
		}
		if name, ok := strings.CutPrefix(line, worktreeTrailer); ok && len(out) > 0 && worktrees < mostLanded {
			last := &out[len(out)-1]
			worktrees++
			last.Worktrees = append(last.Worktrees, strings.TrimSpace(name))
		}
	}
	return out
}

// withLanded adds to out the frames that the commit of query has landed, unless out has them.
func withLanded(ctx context.Context, s *timeline.Store, query FrameQuery, out []FrameMatch) ([]FrameMatch, error) {
	landed, err := landedBy(ctx, s, query.Commit)
	if err != nil {
		return nil, err
	}
	for _, one := range landed {
		same := func(other FrameMatch) bool { return other.RunID == one.RunID && other.FrameNo == one.FrameNo }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Landed = true
		} else if query.Run == "" || query.Run == one.RunID {
			out = append(out, one)
		}
	}
	return out, nil
}

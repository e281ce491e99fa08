package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// tagFolder is the folder of the tags of sessions.
const tagFolder = "refs/tags/replay/"

// Tag is a tag replay/<session>/<checkpoint> of the user's repository. It names the commit of a frame.
type Tag struct {
	Name    string `json:"name"` // without refs/tags/
	Session string `json:"session"`
	Frame   int64  `json:"frame"`
	Commit  string `json:"commit"`
}

// Tags returns the tags of a session, or of all sessions if run is "", sorted by session and frame.
func Tags(ctx context.Context, s *timeline.Store, run string) ([]Tag, error) {
	prefix := tagFolder
	if run != "" {
		name, err := tagFolderOf(run)
		if err != nil {
			return nil, err
		}
		prefix = name
	}
	out, err := gitexec.New(s.Repo(), s.Env()).Run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		return nil, timeline.Explain(err)
	}
	tags := []Tag{}
	for line := range strings.Lines(string(out)) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		session, number, _ := strings.Cut(strings.TrimPrefix(ref, tagFolder), "/")
		frame, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			continue // a tag of somebody else's in this folder
		}
		tags = append(tags, Tag{strings.TrimPrefix(ref, "refs/tags/"), session, frame, commit})
	}
	slices.SortStableFunc(tags, func(a, b Tag) int {
		return cmp.Or(strings.Compare(a.Session, b.Session), cmp.Compare(a.Frame, b.Frame))
	})
	return tags, nil
}

// MakeTags makes a tag for each frame of a session that has none yet, and returns all tags of the session. The tags keep what they name, travel with
// git push --tags, and go when the session is pruned by its age. A tag that names another commit stays: then the code is conflict.
func MakeTags(ctx context.Context, s *timeline.Store, run string) ([]Tag, error) {
	folder, err := tagFolderOf(run)
	if err != nil {
		return nil, err
	}
	head, _, err := openSession(ctx, s, run)
	if err != nil {
		return nil, err
	}
	have, err := Tags(ctx, s, run)
	if err != nil {
		return nil, err
	}
	there := make(map[int64]string)
	for _, tag := range have {
		there[tag.Frame] = tag.Commit
	}
	frames, err := s.Frames(ctx, head.Entry(), objstore.ID{})
	if err != nil {
		return nil, timeline.Explain(err)
	}
	var commands strings.Builder
	for _, frame := range frames.Frames {
		switch commit, ok := there[frame.Frame]; {
		case !ok:
			fmt.Fprintf(&commands, "create %s%d %s\n", folder, frame.Frame, frame.ID)
		case commit != frame.ID.String():
			return nil, fault.New(fault.Conflict, "the tag %s%d names another commit", folder, frame.Frame).
				Hint("`%s session tags %s --delete` removes the tags of the session", fault.Program, fault.Word(run))
		}
	}
	if err := updateTags(ctx, s, commands.String()); err != nil {
		return nil, err
	}
	return Tags(ctx, s, run)
}

// RemoveTags removes the tags of a session.
func RemoveTags(ctx context.Context, s *timeline.Store, run string) error {
	tags, err := Tags(ctx, s, run)
	if err != nil {
		return err
	}
	var commands strings.Builder
	for _, tag := range tags {
		fmt.Fprintf(&commands, "delete refs/tags/%s %s\n", tag.Name, tag.Commit)
	}
	return updateTags(ctx, s, commands.String())
}

// tagFolderOf returns the folder of the tags of a session. The name of a run in a ref is also safe in a tag.
func tagFolderOf(run string) (string, error) {
	component, err := refs.EscapeRun(run)
	return tagFolder + component + "/", timeline.Explain(err)
}

// updateTags makes changes of tags in one transaction of git. commands are for git update-ref --stdin.
func updateTags(ctx context.Context, s *timeline.Store, commands string) error {
	if commands == "" {
		return nil
	}
	_, err := gitexec.New(s.Repo(), s.Env()).RunWith(ctx, strings.NewReader(commands), "update-ref", "--stdin")
	return timeline.Explain(err)
}

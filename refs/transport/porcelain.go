package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/refs"
)

// maxSaid bounds what is kept of what the other side said about a refusal.
const maxSaid = 2000

// A verdict is what one push says of one ref. The larger one counts where a remote has
// more than one URL to push to.
type verdict uint8

const (
	unknown verdict = iota
	current
	done
	heldUp   // by others of its chunk
	raced    // somebody else held or moved it between the two looks of this push
	stale    // it is not what was expected
	declined // the other side does not take it
	unsent   // what it takes along cannot be read here
)

type answer struct {
	verdict verdict
	reason  string
}

// push runs git push for one chunk and returns what it says of each ref of it.
func (p *pusher) push(ctx context.Context, chunk []Move) (map[refs.Name]answer, error) {
	process := p.t.process(p.args(chunk), p.settings())
	stdout, _, err := process.Run(ctx)
	if err == nil {
		return parsePorcelain(stdout, "", chunk)
	}
	var failed *gitexec.Error
	if ctx.Err() != nil || !errors.As(err, &failed) {
		return nil, err
	}
	said := remoteSaid(failed.Stderr)
	switch {
	case p.atomic && strings.Contains(failed.Stderr, "does not support --atomic"):
		p.atomic = false
		return p.push(ctx, chunk)
	case isUnsent(failed.Stderr):
		// The other side says that the pack was bad, which is true and not its fault.
		if reason := unreadable(failed.Stderr); reason != "" {
			return allOf(chunk, answer{unsent, reason}), nil
		}
	case failed.Status == 1:
		if answers, unclear := parsePorcelain(stdout, said, chunk); unclear == nil {
			return answers, nil
		}
		if strings.Contains(string(stdout), "[remote failure]") {
			return nil, fmt.Errorf("%w: %w", ErrRemote, err)
		}
	case saysAny(failed.Stderr, refusedAll):
		return allOf(chunk, answer{declined, cmp.Or(said, withoutSecrets(withoutProgress(failed.Stderr)))}), nil
	}
	return nil, classify(ctx, err)
}

// refusedAll are words with which a push ends that was refused as a whole without a word
// about refs: by a hook for transactions of refs, and for its size by a proxy.
var refusedAll = []string{"ref updates aborted by hook", "HTTP 413", "returned error: 413"}

// args are the arguments of git push for a chunk.
func (p *pusher) args(chunk []Move) []string {
	args := []string{"push", "--porcelain", p.t.progress(), "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"}
	if p.atomic {
		args = append(args, "--atomic")
	}
	specs := make([]string, len(chunk))
	for i, move := range chunk {
		name := string(move.Name)
		switch move.How {
		case FastForward:
			specs[i] = move.New.String() + ":" + name
		case Create:
			args = append(args, "--force-with-lease="+name+":")
			specs[i] = move.New.String() + ":" + name
		case Delete:
			args = append(args, "--force-with-lease="+name+":"+move.Old.String())
			specs[i] = ":" + name
		}
	}
	return append(append(args, "--", p.remote), specs...)
}

// settings keep the user's configuration for their own pushes out of ours.
func (p *pusher) settings() []string {
	settings := []string{"push.pushOption=", "color.push=false", "color.transport=false", "advice.pushUpdateRejected=false"}
	if p.t.isConfigured(p.remote) {
		settings = append(settings, "remote."+p.remote+".mirror=false",
			// A fetch refspec that covers our refs would have git push move them here, too.
			"remote."+p.remote+".fetch=^refs/smithers/*")
	}
	return settings
}

// parsePorcelain reads what git push --porcelain printed. Said is what the other side
// said beside. It is an error if nothing is said of a move.
func parsePorcelain(out []byte, said string, chunk []Move) (map[refs.Name]answer, error) {
	answers := make(map[refs.Name]answer, len(chunk))
	for line := range strings.Lines(string(out)) {
		flag, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		spec, summary, ok := strings.Cut(rest, "\t")
		_, name, isSpec := strings.Cut(spec, ":")
		if !ok || !isSpec || len(flag) != 1 {
			continue
		}
		a := judge(flag, summary)
		if said != "" && (a.verdict == declined || a.verdict == raced) {
			a.reason = strings.TrimPrefix(a.reason+"\n"+said, "\n")
		}
		if a.verdict > answers[refs.Name(name)].verdict {
			answers[refs.Name(name)] = a
		}
	}
	for _, move := range chunk {
		if answers[move.Name].verdict == unknown {
			return nil, fmt.Errorf("%w: git push did not say what became of %s", ErrRemote, move.Name)
		}
	}
	return answers, nil
}

// Reasons of git: a ref that was held up by others of its chunk, and one that moved or was
// locked while the other side took the objects. A lock is left by a crash, too, and the
// name of a ref can be a folder of another's, so the second may be for good.
var (
	ofOthers = []string{"atomic push failed", "atomic push failure"}
	ofRaces  = []string{"failed to update ref", "atomic transaction failed", "failed to lock", "transaction failed to start"}
)

// judge reads one line of git push --porcelain.
func judge(flag, summary string) answer {
	switch flag {
	case "=":
		return answer{verdict: current}
	case " ", "*", "-":
		return answer{verdict: done}
	case "!":
	default: // "+" is a forced update, which is never asked for
		return answer{}
	}
	what, reason, _ := strings.Cut(summary, " (")
	reason = strings.TrimSuffix(reason, ")")
	switch {
	case what == "[remote failure]":
		return answer{}
	case slices.Contains(ofOthers, reason):
		return answer{verdict: heldUp, reason: reason}
	case slices.Contains(ofRaces, reason):
		return answer{verdict: raced, reason: reason}
	case what == "[rejected]":
		return answer{verdict: stale, reason: reason}
	default:
		return answer{verdict: declined, reason: cmp.Or(reason, what)}
	}
}

// remoteSaid is what the other side said on its standard error, but for its progress.
func remoteSaid(stderr string) string {
	var lines []string
	for line := range strings.Lines(withoutProgress(stderr)) {
		if words, ok := strings.CutPrefix(line, "remote: "); ok {
			if words = strings.TrimSpace(words); words != "" {
				lines = append(lines, words)
			}
		}
	}
	said := strings.Join(lines, "\n")
	return said[:min(len(said), maxSaid)]
}

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/cache"
	"github.com/git-smithers/git-smithers/internal/engine/workflow"
	"github.com/git-smithers/git-smithers/jjbridge"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline"
)

// Reasons for which an attempt did not take a result from the cache. Events and people read them.
const (
	missNone     = "no entry has this key"
	missOff      = "the run does not use the cache"
	missSecret   = "the task is given a secret"
	missFiles    = "the files were not captured"
	missExpired  = "the entry is too old"
	missAltered  = "the entry was altered"
	missForeign  = "the entry was stored by another clone"
	missUnfit    = "the files that the entry changes are not as they were"
	missSchema   = "the output of the entry does not fit the schema"
	missTrouble  = "the cache could not be read"
	missFailed   = "the attempt before took a result that then failed"
	leftOutFiles = "captures leave out "
)

// lookup is the search for the result of an attempt in the cache. The runner's goroutine makes it; a worker uses it until the attempt has
// ended.
type lookup struct {
	cache  *cache.Cache
	policy *workflow.Cache
	now    func() time.Time
	noRead bool        // see Options.NoCache
	copy   WorkingCopy // of the attempt; nil without one

	key   cache.Key
	files *snapshot.VCS // the captured files with which the attempt begins; nil if they were not captured
	hit   *cache.Entry  // whose result the attempt takes; nil if there is none
	miss  string        // why the attempt takes no result; "" until it was looked for
	unfit bool          // the result must not be stored
	// alone is true while no other attempt has worked in the same files. The runner's goroutine owns it.
	alone bool
	// refused reports whether the attempt before took a result of the cache that then failed.
	refused bool
	// before is the lookup of the attempt before, which failed in this process; nil for a first try. order counts the attempts that began in
	// the same working copy.
	before *lookup
	order  int
}

// firstTry returns the lookup of the first try of the task, if nothing else has worked in its files since it began: what the last try finished, the
// first would have done. It returns nil if l is a first try itself, or if that is unknown.
func (l *lookup) firstTry() *lookup {
	at := l
	for ; at.before != nil; at = at.before {
		if !at.alone || !at.before.alone || at.before.unfit || at.order != at.before.order+1 {
			return nil
		}
	}
	if at == l {
		return nil
	}
	return at
}

// lookupOf returns the search for a result of an attempt of t, or nil if the task has no cache. given and stdin are what the command is
// given.
func (r *runner) lookupOf(t *workflow.Task, given *taskContext, stdin []byte) (*lookup, error) {
	if t.Cache == nil || r.opts.Cache == nil {
		return nil, nil //nolint:nilnil // nothing is looked for
	}
	l := &lookup{
		cache: r.opts.Cache, policy: t.Cache, now: r.opts.Now, noRead: r.opts.NoCache, copy: r.files.open[t.OwnWorktree()], alone: true,
		key: cache.Key{
			cache.PartWorkflow: r.wf.Name, cache.PartNode: t.ID, cache.PartCommand: cache.Digest([]byte(t.CacheLine())),
		},
	}
	if t.Sandbox != nil {
		l.key[cache.PartSandbox] = cache.Digest([]byte(t.Sandbox.String()))
	}
	if len(t.Env) > 0 {
		l.key[cache.PartEnv] = cache.Digest([]byte(strings.Join(t.Env, "\x00")))
	}
	if s := r.wf.Schema(t.Output); s != nil {
		l.key[cache.PartSchema] = cache.Digest(s.Text)
	}
	// A part that the task does not name is not in the key, so that the keys of older versions stay.
	for part, value := range map[string]string{
		cache.PartVersion: t.Cache.Version, cache.PartModel: t.Model, cache.PartTools: strings.Join(t.Tools, ","),
	} {
		if value != "" {
			l.key[part] = value
		}
	}
	key := workflow.NodeKey{ID: t.ID, Iteration: given.Iteration}
	if given.PreviousError != nil { // a scorer's gate may have refused a result of the cache, and would again
		before, _, err := journal{r.rec}.attempt(key, given.Attempt-1)
		if err != nil {
			return nil, err
		}
		l.refused, l.before = before.CachedFrom != "", r.lookups[key]
	}
	r.lookups[key] = l
	if r.opts.Secrets != nil {
		if masked, err := r.opts.Secrets.Mask(stdin); err != nil || !bytes.Equal(masked, stdin) {
			l.refuse(missSecret) // a key of a secret would tell it, and a key without it would lie
		}
	}
	return l, r.data.addInputs(l, t, given)
}

// refuse makes the attempt neither take nor leave a result.
func (l *lookup) refuse(why string) { l.miss, l.unfit = why, true }

// addInputs adds the parts of the key that come from the run's data.
func (d *dataReader) addInputs(l *lookup, t *workflow.Task, given *taskContext) error {
	if t.Cache.By != nil {
		return d.addValues(l, t, given.Iteration)
	}
	var members map[string]json.RawMessage
	if given.Input != nil {
		if err := json.Unmarshal(given.Input, &members); err != nil {
			return timeline.Explain(err)
		}
	}
	for name, value := range members {
		l.key[cache.PrefixInput+name] = cache.Digest(value)
	}
	for name, value := range given.Needs {
		l.key[cache.PrefixNeeds+name] = cache.Digest(value)
	}
	for name, value := range given.Previous {
		l.key[cache.PrefixPrevious+name] = cache.Digest(value)
	}
	if given.Loop != "" {
		_, scope := snapshot.SplitScope(given.Node) // the iterations of the loops around the loop
		l.key["iteration"] = strconv.Itoa(given.Iteration) + scope
	}
	// The error of the attempt before is no part: a result that came after a failure is as good for a first attempt.
	return nil
}

// addValues adds the values of the expressions of the task's cache to the key.
func (d *dataReader) addValues(l *lookup, t *workflow.Task, iteration int) error {
	members, err := d.members()
	if err != nil {
		return err
	}
	for i := range t.Cache.By {
		v := &t.Cache.By[i]
		outputs, err := d.readRefs(v.Refs, t, iteration)
		if err != nil {
			return err
		}
		value, err := v.Eval(members, outputs, t.Loop != "", iteration)
		if err != nil {
			l.refuse("by: " + err.Error())
			return nil //nolint:nilerr // the task runs, and the event has the reason
		}
		l.key[cache.PrefixBy+v.Text] = cache.Digest(value)
	}
	return nil
}

// startsIn notes the working copy of an attempt that looks for a result, so that the frame in which the attempt starts has its files.
func (d *draft) startsIn(j *job) {
	if j.lookup == nil || j.opener != nil {
		return
	}
	if d.starting == nil {
		d.starting = make(map[string]bool)
	}
	d.starting[j.task.OwnWorktree()] = true
}

// revisions returns the records of the captured working copies.
func (c captures) revisions() map[string]snapshot.VCS {
	all := make(map[string]snapshot.VCS, len(c))
	for name, got := range c {
		all[name] = got.VCS
	}
	return all
}

// crowd notes that a new attempt works in the same files as other attempts. If the new attempt looks for a result, crowd hands it the
// captured files.
func (r *runner) crowd(j *job) {
	name := j.task.OwnWorktree()
	r.entered[name]++
	if j.lookup != nil {
		j.lookup.order = r.entered[name]
	}
	if j.lookup != nil && j.opener == nil {
		if read, ok := r.read[name]; ok {
			j.lookup.files = &read
		}
	}
	for _, other := range r.running {
		if other.job == j || !other.launched || other.Worktree != name {
			continue
		}
		if j.lookup != nil {
			j.lookup.alone = false
		}
		if other.job.lookup != nil {
			other.job.lookup.alone = false
		}
	}
}

// began hands the files of the attempt's own worktree, which was just opened, to the search.
func (l *lookup) began(ctx context.Context, opened WorkingCopy) {
	if l == nil {
		return
	}
	l.copy = opened
	if read, err := opened.Capture(ctx); err == nil && read != nil {
		l.files = &read.VCS
		_ = read.Close() // a later capture removes a quarantine that stays
	}
}

// cachedOr returns the outcome of the job with the result that the cache has for it, or what run returns if the cache has none.
func (j *job) cachedOr(ctx context.Context, run func(context.Context) outcome) outcome {
	if j.lookup == nil {
		return run(ctx)
	}
	output, err := j.lookup.find(ctx, j)
	if e := j.lookup.hit; e != nil {
		from := e.From().String()
		return outcome{job: j, ending: ending{output: output, cached: from, verb: "cached from " + from}}
	}
	out := run(ctx)
	out.uncached = errors.Join(err, out.uncached)
	return out
}

// find looks for the result. If there is one, find makes its changes of files and sets l.hit; otherwise it sets l.miss. An error is about
// the cache, and the attempt must run.
func (l *lookup) find(ctx context.Context, j *job) (output []byte, err error) {
	if l.miss != "" {
		return nil, nil
	}
	if why, err := l.addFiles(); why != "" || err != nil {
		l.refuse(why)
		return nil, err
	}
	if l.miss = missOff; l.noRead {
		return nil, nil
	}
	if l.miss = missFailed; l.refused {
		return nil, nil
	}
	e, err := l.cache.Find(ctx, l.key.Sum())
	switch {
	case errors.Is(err, cache.ErrAltered):
		l.miss = missAltered
		return nil, err
	case err != nil:
		l.miss = missTrouble
		return nil, err
	case e == nil:
		l.miss = missNone
		return nil, nil
	case !e.Own: // whoever made it chose the output and the files
		l.miss = missForeign
		return nil, nil
	case l.policy.TTL > 0 && l.now().Sub(time.UnixMilli(e.CreatedAtMs)) >= l.policy.TTL:
		l.miss = missExpired
		return nil, nil
	}
	if j.schema != nil {
		if output, err = j.schema.CheckOutput(j.task.Output, e.Output); err != nil {
			l.miss = missSchema
			return nil, err
		}
	}
	fits, err := l.apply(ctx, e.Files)
	switch {
	case err != nil:
		l.miss = missTrouble
		return nil, err
	case !fits:
		l.miss = missUnfit
		return nil, nil
	}
	l.miss, l.hit = "", e
	return output, nil
}

// Applier is a working copy whose files can be changed as an earlier attempt changed them. *files.WorkingCopy is an Applier.
type Applier interface {
	// Apply makes the edits if they fit, and reports whether they do. It changes no file if they do not.
	Apply(ctx context.Context, edits []jjbridge.FileEdit) (fits bool, err error)
}

// apply makes the changes of files that belong to a result, and reports whether they fit.
func (l *lookup) apply(ctx context.Context, edits []jjbridge.FileEdit) (bool, error) {
	if len(edits) == 0 {
		return true, nil
	}
	files, ok := l.copy.(Applier)
	if !ok {
		return false, nil
	}
	return files.Apply(ctx, edits)
}

// addFiles adds the parts of the key about files. If the files are not known, it returns the reason why the attempt uses no cache.
func (l *lookup) addFiles() (why string, err error) {
	if l.policy.NoFiles {
		return "", nil
	}
	if l.files == nil || l.files.Tree.IsZero() {
		return missFiles, nil
	}
	if l.policy.Paths == nil {
		if left := leftOut(l.files, "."); left != "" {
			return leftOutFiles + left, nil
		}
		l.key[cache.PartFiles] = l.files.Tree.String()
		return "", nil
	}
	for _, path := range l.policy.Paths {
		if left := leftOut(l.files, path); left != "" {
			return leftOutFiles + left, nil
		}
		part, err := l.cache.PartOf(l.files.Tree, path)
		if err != nil {
			return missFiles, err
		}
		l.key[cache.PrefixFiles+path] = part
	}
	return "", nil
}

// leftOut returns the first path at or below a path that a capture left out; "" if there is none. "." is the whole working copy.
func leftOut(v *snapshot.VCS, path string) string {
	for _, l := range v.LeftOut {
		left := strings.TrimSuffix(l.Path, "/")
		switch {
		case left == "":
			return "untracked files"
		case path == "." || left == path || strings.HasPrefix(left, path+"/") || strings.HasPrefix(path, left+"/"):
			return left
		}
	}
	if v.LeftOutMore > 0 {
		return "more files than it lists"
	}
	return ""
}

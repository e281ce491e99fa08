package claim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/git-smithers/git-smithers/internal/gitexec"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/timeline"
)

const (
	// presenceFolder is the folder of the notes in the store's private folder.
	presenceFolder = "present"
	// sessionIdle is the time after which a session without a hook is not at work, although its turn has not ended: its agent was
	// killed or interrupted, and no hook tells of that.
	sessionIdle = time.Hour
	// runVariable is the environment variable that names the run to the commands of its tasks.
	runVariable = "SMITHERS_RUN_ID"
)

// Presence is who is at work in a working copy: runs and sessions. Each working copy has a folder of notes in the private folder, with a note for
// each run or session that is at work there. A note of one that has left stays until everybody who was there with it has
// looked around. So nothing of this is history. Presence's methods ignore errors: at worst, a frame is not
// marked as shared.
type Presence struct {
	store *timeline.Store
	path  string
}

// PresenceAt returns the presence in the working copy with the top folder root.
func PresenceAt(s *timeline.Store, root string) Presence {
	sum := sha256.Sum256([]byte(root))
	return Presence{s, filepath.Join(s.Private(), presenceFolder, hex.EncodeToString(sum[:8]))}
}

// PresenceNote is the note of a run or session.
type PresenceNote struct {
	Run     string `json:"runId"`
	Session bool   `json:"session,omitempty"`
	// Variable is an environment variable that the session's agent sets for its commands, or "".
	Variable string `json:"variable,omitempty"`
	// Within has the runs and sessions one of whose commands the run or session is. What it changes is their work, too.
	Within []string `json:"within,omitempty"`
	Left   bool     `json:"left,omitempty"`

	at time.Time // when it last looked around or, if it has left, when it left
}

// isHere reports whether the note is of a run or session that is at work.
func (n *PresenceNote) isHere() bool { return n != nil && !n.Left }

// Enter notes that a run or session is at work from now on. caller is the run that calls it, or "". If it was at work
// already, Enter changes nothing.
func (p Presence) Enter(n PresenceNote, caller string) {
	if all := p.notes(); !findNote(all, n.Run).isHere() {
		n.Within = p.enclosing(all, n, caller)
		p.write(n)
	}
}

// Leave notes that a run or session is no longer at work.
func (p Presence) Leave(run string) {
	all := p.notes()
	n := findNote(all, run)
	if !n.isHere() {
		return
	}
	n.Left = true
	if slices.ContainsFunc(all, func(other PresenceNote) bool { return !other.Left }) {
		p.write(*n)
		return
	}
	for _, left := range all {
		_ = os.Remove(p.file(left.Run))
	}
	_ = os.Remove(p.path) // the removal fails, as it should, if another has entered
}

// Beside returns the sorted ids of the runs and sessions that are at work beside run, a run or session. If run is at work
// itself, the result also has those that have left since the time began of the last call for run. began is the time since
// which run has looked around. caller is the run that calls run, or "".
func (p Presence) Beside(run, caller string, began time.Time) []string {
	all := p.notes()
	out := idsOf(p.beside(all, run, caller))
	if findNote(all, run).isHere() {
		_ = os.Chtimes(p.file(run), began, began)
	}
	return out
}

// Executing returns the sorted ids of the other runs that have commands at work now. Sessions are left out.
func (p Presence) Executing(run string) []string {
	resting := func(n PresenceNote) bool { return n.Session || n.Left }
	return idsOf(slices.DeleteFunc(p.beside(p.notes(), run, ""), resting))
}

// idsOf returns the sorted ids of the runs and sessions of notes.
func idsOf(notes []PresenceNote) (ids []string) {
	for _, n := range notes {
		ids = append(ids, n.Run)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// beside returns the notes of the results of Beside. It removes notes that nobody needs any more.
func (p Presence) beside(all []PresenceNote, run, caller string) (out []PresenceNote) {
	own, now, deserted := findNote(all, run), p.store.Now(), true
	oldest := now // when the first of those who are at work looked around
	for i := range all {
		n := &all[i]
		if !n.Left && n.Run != run && !p.isAtWork(*n) {
			if n.Left = true; !n.Session { // its process was killed, nobody knows when
				p.write(*n)
				n.at = now
			}
		}
		if deserted = deserted && n.Left; !n.Left && n.at.Before(oldest) {
			oldest = n.at
		}
	}
	within := p.enclosing(all, PresenceNote{Run: run}, caller)
	if own.isHere() {
		within = own.Within
	}
	for _, n := range all {
		switch {
		case n.Run == run:
		case n.Left && (deserted || n.at.Before(oldest)):
			_ = os.Remove(p.file(n.Run))
		case slices.Contains(within, n.Run), slices.Contains(n.Within, run):
		case !n.Left, own.isHere() && !n.at.Before(own.at):
			out = append(out, n)
		}
	}
	return out
}

// isAtWork reports whether the run or session of a note that has not left is at work.
func (p Presence) isAtWork(n PresenceNote) bool {
	if n.Session {
		return p.store.Now().Sub(n.at) < sessionIdle
	}
	claims, err := p.store.Executed().Folder(n.Run)
	return err == nil && claims.Live(p.store.Now(), p.store.Settings().StaleAfter) || CommandsOf(p.store, n.Run).Alive()
}

// enclosing returns the runs and sessions one of whose commands the run or session of n is: its caller, the run that
// the environment names, and open sessions of an agent whose variable is in the environment; and what encloses these.
func (p Presence) enclosing(all []PresenceNote, n PresenceNote, caller string) []string {
	var out []string
	add := func(id string) {
		if id == "" || id == n.Run {
			return
		}
		out = append(out, id)
		if outer := findNote(all, id); outer != nil {
			out = append(out, outer.Within...)
		}
	}
	add(caller)
	run, _ := gitexec.LookupEnv(p.store.Env(), runVariable)
	add(run)
	for _, other := range all {
		if value, _ := gitexec.LookupEnv(p.store.Env(), other.Variable); value != "" && other.isHere() && !n.Session {
			add(other.Run)
		}
	}
	return out
}

// file returns the path of a run's note.
func (p Presence) file(run string) string {
	name, _ := refs.EscapeRun(run)
	return filepath.Join(p.path, name)
}

// notes returns all notes.
func (p Presence) notes() (all []PresenceNote) {
	entries, _ := os.ReadDir(p.path)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue // a note that is being written
		}
		var n PresenceNote
		info, err := entry.Info()
		if data, readErr := os.ReadFile(filepath.Join(p.path, entry.Name())); err == nil && readErr == nil && json.Unmarshal(data, &n) == nil {
			n.at = info.ModTime()
			all = append(all, n)
		}
	}
	return all
}

// findNote returns the note of a run, or nil.
func findNote(all []PresenceNote, run string) *PresenceNote {
	if i := slices.IndexFunc(all, func(n PresenceNote) bool { return n.Run == run }); i >= 0 {
		return &all[i]
	}
	return nil
}

// write writes a note, as of now.
func (p Presence) write(n PresenceNote) {
	data, err := json.Marshal(n)
	if err != nil || os.MkdirAll(p.path, 0o777) != nil {
		return
	}
	now, path := p.store.Now(), p.file(n.Run)
	fresh := filepath.Join(p.path, "."+filepath.Base(path)) // no run's note begins with a dot
	if os.WriteFile(fresh, data, 0o666) == nil && os.Chtimes(fresh, now, now) == nil {
		_ = os.Rename(fresh, path)
	}
}

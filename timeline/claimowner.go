package timeline

import (
	"time"

	"github.com/git-smithers/git-smithers/snapshot"
)

// Owner is who a run's row says owns it, and what is known of that process here.
type Owner struct {
	Token  string // "" for nobody
	Live   bool   // it has the claim's file locked, and has touched it within smithers.staleAfter
	Here   bool   // the claim was made in this repository on this machine
	PID    int    // 0 where it is not known
	BeatAt time.Time
}

// Owner looks up who owns a run.
func (s *Store) Owner(row snapshot.Run) Owner {
	owner := Owner{Token: row.Owner}
	folder, err := s.claimFolder(row.ID)
	if err != nil || !isToken(row.Owner) {
		return owner
	}
	seen, err := folder.look(row.Owner)
	if err != nil {
		return owner
	}
	owner.Here, owner.PID, owner.BeatAt = true, seen.note.PID, seen.beatAt
	owner.Live = seen.locked && s.now().Sub(seen.beatAt) <= s.settings.StaleAfter
	return owner
}

// RefuseOwned returns run_owned if a live process owns the run.
func (s *Store) RefuseOwned(row snapshot.Run) error {
	if owner := s.Owner(row); owner.Live {
		return runOwned(row, owner)
	}
	return nil
}

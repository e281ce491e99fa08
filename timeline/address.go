package timeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/refs"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// Address names a frame of a run. If Frame is snapshot.NoFrame, the address is the run's id alone and means the
// state at the run's tip.
type Address struct {
	Run   string
	Frame int64
}

// String returns "run:frame", or "run" if the address is a run's id alone.
func (a Address) String() string {
	if a.Frame == snapshot.NoFrame {
		return a.Run
	}
	return a.Run + ":" + strconv.FormatInt(a.Frame, 10)
}

// LoadedEntry is an entry and its address.
type LoadedEntry struct {
	Address Address         // the run's full id; the number of the entry's frame
	Entry   *snapshot.Entry // the parent run's entry, if a fork has its parent's frame as frame 0
	Bare    bool            // the address that was given is a run alone; the entry is the run's tip
}

// Load resolves an address and reads its entry. The address has one of four forms:
//
//   - "run" means the run's tip.
//   - "run:frame" is a frame by its number.
//   - "run:engine/number" is the newest frame of the run's timeline that has the number in the engine from which the
//     run was imported; see PeerFrame.
//   - "run@id" is the newest frame of the run's timeline that has the id; see snapshot.Header.IDs. If no frame has the
//     id and the run is a fork, the search continues in the parent, from the frame that was forked. The result may
//     then be a frame of an ancestor.
//
// A run id may contain ":" and "@". Load splits the address at the last colon, and then at each "@" from the left, until the
// part before is a run. Only then does it try the whole address as a run id, so that a run never takes the address of another
// run's frame. The run is given by its id or a unique prefix of its id. If a run has exactly the given id, Load ignores runs
// whose ids begin with it.
//
// Codes: invalid_run_id, invalid_address, run_not_found, run_ambiguous, run_pruned for the id of a pruned run, and
// frame_not_found.
func (s *Store) Load(ctx context.Context, address string) (*LoadedEntry, error) {
	return s.LoadFor(ctx, address, ToRead)
}

// LoadFor resolves an address and reads its entry, as Load does. The parameter to says what the caller wants to do
// with the entry: ToRead or ToChange. For ToChange, the address must have the run's whole id; for a prefix, the code
// is run_not_found. If the address has the form run@id, ToChange also needs a frame of the run itself; if only an
// ancestor has the id, the code is frame_not_found. The other codes are those of Load.
func (s *Store) LoadFor(ctx context.Context, address string, to Purpose) (*LoadedEntry, error) {
	at, tip, err := s.resolve(ctx, address, to)
	if err != nil {
		return nil, err
	}
	if at.Frame != snapshot.NoFrame {
		return s.LoadFrame(ctx, at, tip)
	}
	return loadTip(ctx, s, at.Run, tip)
}

// At reads the entry at an address. The address has a run's whole id, and the number of a frame or snapshot.NoFrame for the run's tip.
// Codes: invalid_run_id, run_not_found, run_pruned and frame_not_found.
func (s *Store) At(ctx context.Context, at Address) (*LoadedEntry, error) {
	run, tip, err := s.FindRun(ctx, at.Run, ToChange)
	switch {
	case err != nil:
		return nil, err
	case at.Frame == snapshot.NoFrame:
		return loadTip(ctx, s, run, tip)
	}
	return s.LoadFrame(ctx, at, tip)
}

// Newest returns the entry at the tip of the run with exactly the given id, as Load does for an id that is not an address. Code:
// run_not_found.
func (s *Store) Newest(ctx context.Context, run string) (*LoadedEntry, error) {
	_, tip, err := s.FindRunExactly(ctx, run)
	if err != nil {
		return nil, err
	}
	return loadTip(ctx, s, run, tip)
}

// loadTip returns the entry at a run's tip.
func loadTip(ctx context.Context, s *Store, run string, tip objstore.ID) (*LoadedEntry, error) {
	entry, row, err := readTip(ctx, s, tip)
	if err != nil {
		return nil, err
	}
	return &LoadedEntry{Address{run, row.Frame}, entry, true}, nil
}

// LoadFrame reads the frame at an address, by the frame's ref. The address at must have a whole run id and a frame's
// number, and tip is the run's tip. If the ref is missing or broken, LoadFrame finds the frame through the index or
// the chain (see findFrame). It then replaces a broken ref; a failure of this is a warning. Code: frame_not_found.
func (s *Store) LoadFrame(ctx context.Context, at Address, tip objstore.ID) (*LoadedEntry, error) {
	name, err := refs.Frame(at.Run, at.Frame)
	if err != nil {
		return nil, Explain(err)
	}
	id, refErr := s.refs.Resolve(ctx, name)
	if refErr == nil {
		entry, err := snapshot.ReadEntry(s.objects, id)
		if err != nil {
			return nil, Explain(err)
		}
		entry, err = AsFrame(s, at, tip, entry)
		return &LoadedEntry{at, entry, false}, err
	}
	if !errors.Is(refErr, refs.ErrNotFound) && !errors.Is(refErr, refs.ErrBroken) {
		return nil, Explain(refErr)
	}
	newest, row, err := readTip(ctx, s, tip)
	if err != nil {
		return nil, err
	}
	entry, err := findFrame(ctx, s, row, newest, at.Frame)
	if err != nil {
		return nil, err
	}
	if errors.Is(refErr, refs.ErrBroken) {
		if err := s.FrameRefs().restore(ctx, at.Run, name, entry.ID, refErr); err != nil {
			s.warn(fmt.Errorf("the frame ref %s was not repaired: %w", name, err))
		}
	}
	return &LoadedEntry{at, entry, false}, nil
}

// AsFrame returns the entry of a frame as the frame's run shows it. The parameter at is the address of the frame, entry
// is the value of the frame's ref, and tip is the run's tip. If the frame belongs to the extension of a fork, the
// result is a view (see snapshot.AsFrame). Frame 0 of a fork stays the parent run's entry.
func AsFrame(s *Store, at Address, tip objstore.ID, entry *snapshot.Entry) (*snapshot.Entry, error) {
	if at.Frame == 0 || entry.Run == at.Run && entry.Frame == at.Frame {
		return entry, nil
	}
	newest, err := snapshot.ReadEntry(s.objects, tip)
	if err == nil {
		entry, err = snapshot.AsFrame(s.objects, newest, entry, at.Frame)
	}
	return entry, Explain(err)
}

// readTip returns the entry with the id tip and the run's row in this entry. It also repairs the newest frame's
// ref (see RepairNewest). tip is the run's tip.
func readTip(ctx context.Context, s *Store, tip objstore.ID) (*snapshot.Entry, snapshot.Run, error) {
	entry, err := snapshot.ReadEntry(s.objects, tip)
	if err != nil {
		return nil, snapshot.Run{}, Explain(err)
	}
	row, err := entry.RunRow()
	if err != nil {
		return nil, snapshot.Run{}, Explain(err)
	}
	return entry, row, s.FrameRefs().RepairNewest(ctx, row, entry)
}

// resolve returns the run and the frame that an address names, and the tip of the run. The parameter to is as in
// LoadFor. Codes: those of LoadFor.
//
// An address may have several readings. resolve tries each reading with an exact run id first, also with the ids of
// pruned runs, and then with a prefix of an id. So an address keeps its meaning if a new run has an id that begins
// with the address. Exact ids are also cheaper: the search for a prefix reads the tips of all runs. The readings as a
// frame come before the reading as a run, so that an address keeps its meaning if a new run has the address as its id.
func (s *Store) resolve(ctx context.Context, address string, to Purpose) (Address, objstore.ID, error) {
	if address == "" {
		return Address{}, objstore.ID{}, fault.New(fault.InvalidRunID, "the run id is empty").Hint("`git smithers runs` lists the runs")
	}
	split, splitErr := splitAddress(address)
	readings := append(slices.Clone(split), reading{Address: Address{address, snapshot.NoFrame}})
	runs := runFinder{s.refs}
	for _, way := range runs.ways(to) {
		var noFrame error // a run has no frame with an id, and another reading may still have a frame
		for _, reading := range readings {
			if reading.longer && way.byPrefix {
				continue
			}
			run, tip, err := way.find(ctx, reading.Run)
			if err == nil && way.byPrefix && reading.Run != address && strings.HasPrefix(run, address) {
				continue // the whole address is a prefix of the run's id, too
			}
			if err == nil {
				reading.Run = run
				var at Address
				if at, tip, err = reading.frame(ctx, s, tip, to); reading.id == "" || fault.CodeOf(err) != fault.FrameNotFound {
					return at, tip, err
				}
				noFrame = cmp.Or(noFrame, err)
			} else if fault.CodeOf(err) != fault.RunNotFound {
				return Address{}, objstore.ID{}, err
			}
		}
		if noFrame != nil {
			return Address{}, objstore.ID{}, noFrame
		}
	}
	switch {
	case len(split) > 0:
		// run@turn:7 is rather an id of a frame than frame 7 of run@turn
		shortest := slices.MinFunc(split, func(a, b reading) int { return cmp.Compare(len(a.Run), len(b.Run)) })
		return Address{}, objstore.ID{}, runs.unknown(ctx, shortest.Run, to)
	case splitErr != nil:
		return Address{}, objstore.ID{}, splitErr
	}
	return Address{}, objstore.ID{}, runs.unknown(ctx, address, to)
}

// reading is one reading of the text of an address: a run alone, a frame by its number, or a frame by an id.
type reading struct {
	Address

	engine string // if not "", Frame is the number that this engine gave the frame
	id     string // if not "", the newest frame of the run's line with this id is meant; Frame is snapshot.NoFrame
	// longer is true if an earlier reading by id has a run that is a prefix of this reading's run. A search by prefix
	// skips this reading, because the earlier reading finds the same runs and more.
	longer bool
}

// frame returns the address of the frame that the reading n means, and the tip of the run in this address. n.Run must
// be a whole id, and tip the tip of the run n.Run. The parameter to is as in LoadFor. If the reading has an id of a
// frame, the address may name an ancestor of n.Run. Code: frame_not_found.
func (n reading) frame(ctx context.Context, s *Store, tip objstore.ID, to Purpose) (Address, objstore.ID, error) {
	if n.id != "" {
		return frameWithID(ctx, s, n.Run, tip, n.id, to)
	}
	at, err := ownNumber(ctx, s, n, tip)
	return at, tip, err
}

// splitAddress returns the possible ways to read an address that names a frame, in the order in which to try them. The
// first reading is run:frame or run:engine/number, split at the last colon. The others are run@id, split at each @
// from the left. If there is no valid reading, splitAddress returns no readings. The error then says which part of the
// address is invalid, or is nil if the address has neither a colon nor an @.
func splitAddress(address string) (readings []reading, err error) {
	numbered, err := splitNumber(address)
	if numbered != nil {
		readings = append(readings, *numbered)
	}
	withID, idErr := splitID(address)
	readings = append(readings, withID...)
	if len(readings) > 0 {
		return readings, nil
	}
	if err == nil {
		err = idErr
	}
	return nil, err
}

// splitNumber splits an address of the form run:frame or run:engine/number at the last colon. If the address has
// no colon, splitNumber returns nil and no error. If a part is missing or invalid, it returns nil and
// invalid_address.
func splitNumber(address string) (*reading, error) {
	colon := strings.LastIndexByte(address, ':')
	if colon < 0 {
		return nil, nil //nolint:nilnil // the address has another form
	}
	engine, number, hasEngine := strings.Cut(address[colon+1:], "/")
	if !hasEngine {
		engine, number = "", engine
	}
	frame, ok := parseFrame(number)
	why := ""
	switch {
	case colon == 0:
		why = "the run before the colon is missing"
	case hasEngine && engine == "":
		why = "the engine before the slash is missing"
	case !ok:
		why = fmt.Sprintf("%q is not the number of a frame", number)
	default:
		return &reading{Address: Address{address[:colon], frame}, engine: engine}, nil
	}
	return nil, notAddress(address, why)
}

// splitID returns the readings of an address as run@id, the reading with the shortest run first. If the address
// has no @, splitID returns nothing and no error. If it has an @ only at its start or its end, splitID returns
// invalid_address.
func splitID(address string) (readings []reading, err error) {
	for at := range len(address) {
		switch {
		case address[at] != '@':
		case at == 0:
			err = notAddress(address, "the run before the @ is missing")
		case at == len(address)-1:
			err = notAddress(address, "the id after the @ is missing")
		default:
			readings = append(readings, reading{
				Address: Address{address[:at], snapshot.NoFrame}, id: address[at+1:], longer: len(readings) > 0,
			})
		}
	}
	if len(readings) > 0 {
		return readings, nil
	}
	return nil, err
}

// notAddress returns the error invalid_address for a text that is not an address. why is the reason for people. A
// hint shows the valid forms.
func notAddress(address, why string) error {
	return fault.New(fault.InvalidAddress, "%q is not an address: %s", address, why).
		Hint("write a run as triage-1, a frame as triage-1:7, a frame by its id as triage-1@call_2, or a frame by Smithers' number as triage-1:smithers/7")
}

// parseFrame returns the frame number in s. It returns false if s is not a number in decimal digits without
// leading zeros.
func parseFrame(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && strconv.FormatInt(n, 10) == s
}

package timeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/git-smithers/git-smithers/internal/objstore/page"
	"github.com/git-smithers/git-smithers/objstore"
	"github.com/git-smithers/git-smithers/snapshot"
	"github.com/git-smithers/git-smithers/timeline/fault"
)

// PeerFrame describes a frame as it is known to the engine from which the run was imported. The description is
// in ext/<engine>/ at the run's tip: the collections frames and marks, and the file pass. A key of frames is
// git-smithers' frame number; the row's member frameNo is the engine's number, if that number differs. The
// member frame of pass is the newest frame that came from the engine: git-smithers added the later frames that
// are not in frames.
type PeerFrame struct {
	Engine string     `json:"engine"`
	Frame  *int64     `json:"frameNo"` // the engine's number; nil if the engine never had the frame
	Marks  []PeerMark `json:"marks"`   // never nil
}

// PeerMark is an inconsistency in the engine's records of a frame. The records were imported unchanged.
type PeerMark struct {
	What   string `json:"what"`   // the kind of the inconsistency
	Stored string `json:"stored"` // the value in the engine's records
	Found  string `json:"found"`  // the value that the import computed, or an error
}

// peerFrames and peerMarks are the collections in ext/<engine>/ that describe a run's frames. peerPass is the file in
// ext/<engine>/ with the newest frame of the engine.
const (
	peerFrames = "frames"
	peerMarks  = "marks"
	peerPass   = "pass"
)

// PeerFrames returns a description of the frame at for each engine with data in ext/ of the run, sorted
// by engine. A description has the engine's marks of the frame, and the engine's number of the frame, or nil if
// the engine does not have the frame. PeerFrames leaves out an engine whose data the run only inherited from its
// parent.
func PeerFrames(ctx context.Context, s *Store, at *LoadedEntry) ([]PeerFrame, error) {
	tip := at
	if !at.Bare {
		var err error
		if tip, err = s.Newest(ctx, at.Address.Run); err != nil {
			return nil, err
		}
	}
	engines, err := tip.Entry.ExtEngines()
	if err != nil {
		return nil, Explain(err)
	}
	found := make([]PeerFrame, 0, len(engines))
	from, err := forkedFrom(s, tip.Entry)
	if err != nil {
		return nil, Explain(err)
	}
	for _, engine := range engines {
		p, err := readPeerRows(tip.Entry, from, engine)
		if err != nil {
			return nil, Explain(err)
		}
		if p.inherited {
			continue
		}
		f := PeerFrame{Engine: engine, Marks: p.marks[at.Address.Frame]}
		if f.Marks == nil {
			f.Marks = []PeerMark{}
		}
		if number := p.number(at.Address.Frame); number >= 0 {
			f.Frame = &number
		}
		found = append(found, f)
	}
	return found, nil
}

// ownNumber returns the address of a frame with git-smithers' own frame number. r is one possible meaning of an address
// that a user gave. If r names no engine, r's address already has this number. Otherwise, r.Frame is the engine's
// number, and ownNumber finds the newest frame with this number in the run's timeline. tip is the run's tip. Codes:
// invalid_address if the run has no data of the engine, frame_not_found.
func ownNumber(ctx context.Context, s *Store, r reading, tip objstore.ID) (Address, error) {
	if r.engine == "" {
		return r.Address, nil
	}
	entry, row, err := readTip(ctx, s, tip)
	if err != nil {
		return Address{}, err
	}
	engines, err := entry.ExtEngines()
	if err != nil {
		return Address{}, Explain(err)
	}
	if !slices.Contains(engines, r.engine) {
		refused := fault.New(fault.InvalidAddress, "run %q has no data of engine %q", row.ID, r.engine).
			Hint("leave out %s/ to use git-smithers' own frame number: %s", r.engine, r.Address)
		for _, engine := range engines {
			refused = refused.Hint("type %s:%s/%d to use the frame number of engine %[2]s", row.ID, engine, r.Frame)
		}
		return Address{}, refused
	}
	from, err := forkedFrom(s, entry)
	if err != nil {
		return Address{}, Explain(err)
	}
	p, err := readPeerRows(entry, from, r.engine)
	if err != nil {
		return Address{}, Explain(err)
	}
	// Several frames may have the engine's number. The newest frame that is still in the timeline counts.
	for _, frame := range p.framesOf(r.Frame, row.Frame) {
		over, err := FindSteppedOver(ctx, s, Address{row.ID, frame})
		if err != nil {
			return Address{}, err
		}
		if over == nil {
			return Address{row.ID, frame}, nil
		}
	}
	return Address{}, fault.New(fault.FrameNotFound, "run %q has no frame %d of %s", row.ID, r.Frame, r.engine).
		Hint("`git smithers timeline %s` lists the run's frames", fault.Word(row.ID)).
		Detail("runId", row.ID).Detail("engine", r.engine).Detail("frameNo", r.Frame)
}

// peerRows has an engine's records of a run's frames, by git-smithers' frame numbers.
type peerRows struct {
	inherited bool                 // the engine knows the parent run, but not this fork
	numbers   map[int64]int64      // the engine's numbers that differ; -1 for a frame that the engine does not have
	newest    int64                // the last frame that may have the same number in the engine
	marks     map[int64][]PeerMark // the inconsistencies of each frame
}

// number returns the number that the engine gave to a frame. frame is git-smithers' number of the frame. If the
// engine recorded no number for the frame, both numbers are the same. If the frame is newer than the newest frame
// of the engine and has no recorded number, number returns -1.
func (p *peerRows) number(frame int64) int64 {
	number, ok := p.numbers[frame]
	switch {
	case ok:
		return number
	case frame > p.newest:
		return -1
	}
	return frame
}

// framesOf returns git-smithers' numbers of the frames that have the given number in the engine, newest first. Several
// frames may have the same number in the engine. A frame without a recorded number has the same number in the engine,
// unless the frame is newer than p.newest. framesOf leaves out frames whose number in git-smithers is above maxFrame.
func (p *peerRows) framesOf(number, maxFrame int64) []int64 {
	var frames []int64
	for frame, other := range p.numbers {
		if other == number && frame <= maxFrame {
			frames = append(frames, frame)
		}
	}
	if _, other := p.numbers[number]; !other && number <= min(maxFrame, p.newest) {
		frames = append(frames, number)
	}
	slices.SortFunc(frames, func(a, b int64) int { return cmp.Compare(b, a) })
	return frames
}

// forkedFrom returns the entry of the parent's frame from which a run was forked, or nil if the run is not a fork.
// tip is the entry at the run's tip.
func forkedFrom(s *Store, tip *snapshot.Entry) (*snapshot.Entry, error) {
	row, err := tip.RunRow()
	if err != nil || row.Parent == nil {
		return nil, err
	}
	return snapshot.ReadEntry(s.objects, row.Parent.Commit)
}

// readPeerRows reads an engine's records of the frames of a run. tip is the entry at the run's tip. from is the
// entry of the parent's frame, or nil if the run is not a fork. readPeerRows leaves out rows that are equal in
// from, since they describe the parent's frames. If all data of the engine is equal in from, the result has
// inherited set and no rows.
func readPeerRows(tip, from *snapshot.Entry, engine string) (*peerRows, error) {
	p := &peerRows{numbers: make(map[int64]int64), newest: math.MaxInt64, marks: make(map[int64][]PeerMark)}
	if from != nil {
		has, err := tip.ExtID(engine)
		if err != nil {
			return nil, err
		}
		had, err := from.ExtID(engine)
		if err != nil {
			return nil, err
		}
		if p.inherited = had == has; p.inherited {
			return p, nil
		}
	}
	if err := p.readPass(tip, engine); err != nil {
		return nil, err
	}
	if err := eachOwnRow(tip, from, engine, peerFrames, p.readFrame); err != nil {
		return nil, err
	}
	return p, eachOwnRow(tip, from, engine, peerMarks, p.readMark)
}

// eachOwnRow calls read for each row of a collection in tip that is missing or different in from. The collection
// has the given name in the data of engine. If from is nil, eachOwnRow calls read for all rows. If read returns an
// error, the row is corrupt: eachOwnRow ends with an error that wraps objstore.ErrCorrupt.
func eachOwnRow(tip, from *snapshot.Entry, engine, name string, read func(page.Row) error) error {
	rows, err := tip.ExtRows(engine, name)
	if err != nil || rows.Len() == 0 {
		return err
	}
	var before *page.Collection
	if from != nil {
		if before, err = from.ExtRows(engine, name); err != nil || before.ID() == rows.ID() {
			return err
		}
	}
	for row, err := range rows.Rows() {
		if err != nil {
			return err
		}
		if before != nil {
			had, _, err := before.Get(row.Key)
			if err != nil {
				return err
			}
			if bytes.Equal(had, row.Value) {
				continue
			}
		}
		if err := read(row); err != nil {
			return fmt.Errorf("%w: ext/%s/%s: %q: %w", objstore.ErrCorrupt, engine, name, row.Key, err)
		}
	}
	return nil
}

// readPass sets p.newest to the number of the newest frame that the engine has. It reads this number from the file pass
// of the engine. tip is the entry at the run's tip. If the file or its member frame is missing, p.newest is unchanged,
// and every frame may be a frame of the engine.
func (p *peerRows) readPass(tip *snapshot.Entry, engine string) error {
	data, err := tip.ExtFile(engine, peerPass)
	if err != nil || data == nil {
		return err
	}
	var value struct {
		Newest *int64 `json:"frame"`
	}
	if err := json.Unmarshal(data, &value); err != nil {
		return fmt.Errorf("%w: ext/%s/%s: %w", objstore.ErrCorrupt, engine, peerPass, err)
	}
	if value.Newest != nil {
		p.newest = *value.Newest
	}
	return nil
}

// readFrame adds a row of the collection frames to p.numbers. The row's key is git-smithers' number of the frame.
// A row without the member frameNo adds nothing.
func (p *peerRows) readFrame(row page.Row) error {
	frame, err := strconv.ParseInt(row.Key, 10, 64)
	if err != nil {
		return err
	}
	var value struct {
		Number *int64 `json:"frameNo"`
	}
	if err := json.Unmarshal(row.Value, &value); err != nil {
		return err
	}
	if value.Number != nil {
		p.numbers[frame] = *value.Number
	}
	return nil
}

// readMark adds a row of the collection marks to p.marks. The row's key is "<frame>/<what>", or
// "<frame>/<what>/<n>" if the frame has several marks of that kind.
func (p *peerRows) readMark(row page.Row) error {
	number, what, _ := strings.Cut(row.Key, "/")
	what, _, _ = strings.Cut(what, "/")
	frame, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	mark := PeerMark{What: what}
	if err := json.Unmarshal(row.Value, &mark); err != nil {
		return err
	}
	p.marks[frame] = append(p.marks[frame], mark)
	return nil
}

package export

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// signalRows returns the rows of table, which is _smithers_signals, for a run that has changed since its import. rows
// has the signals of the run. For a signal that the imported rows have, signalRows returns the imported rows. Any other
// signal, which was sent in this repository, gets a new number after all imported numbers. Before a complete import,
// signalRows returns rows.
func (x *runExport) signalRows(table source.Table, rows []source.Row) ([]source.Row, error) {
	if !x.Imported || x.Peer.Pass.Rows == "" {
		return rows, nil
	}
	imported, err := x.keptRows(table)
	if err != nil {
		return nil, err
	}
	next := x.facts.NextSeq()
	own := make(map[string][]source.Row)
	for _, row := range imported {
		next = max(next, row["seq"].Int+1)
		if s, ok := tables.ReadSignal(row); ok {
			own[s.Digest()] = append(own[s.Digest()], row)
		}
	}
	var all []source.Row
	for _, row := range rows {
		s, ok := tables.ReadSignal(row)
		if known := own[s.Digest()]; ok && len(known) > 0 {
			all = append(all, known...)
			continue
		}
		row["seq"] = dbrow.Int(next)
		all = append(all, row)
		next++
	}
	return all, nil
}

package export

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/stored"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/tables"
)

// signalRows returns the rows of table, which is _smithers_signals, for a run that has changed since its import. For a
// predicted signal that the imported rows have, it returns the imported rows. For any other predicted signal, which was
// sent in this repository, it returns the predicted row with a new number after all imported numbers. If importedRows
// returns nil, signalRows returns all predicted rows.
func (x *runExport) signalRows(table source.Table, predicted []source.Row) ([]source.Row, error) {
	imported, err := x.importedRows(table)
	if err != nil {
		return nil, err
	}
	if imported == nil {
		return dbrow.Restore(table, predicted, nil, x.Row.ID, dbrow.Root(x.req.Root))
	}
	next := x.facts.NextSeq()
	own := make(map[string][]source.Row)
	for _, row := range imported {
		next = max(next, row["seq"].Int+1)
		if s, ok := tables.ReadSignal(row); ok {
			own[s.Digest()] = append(own[s.Digest()], row)
		}
	}
	var rows []source.Row
	for _, row := range predicted {
		s, ok := tables.ReadSignal(row)
		if known := own[s.Digest()]; ok && len(known) > 0 {
			rows = append(rows, known...)
			continue
		}
		row["seq"] = dbrow.Int(next)
		rows = append(rows, row)
		next++
	}
	return dbrow.Restore(table, rows, nil, x.Row.ID, dbrow.Root(x.req.Root))
}

// importedRows returns the rows of a table as the run's last import found them. It returns nil if the run was not
// imported or the last import did not read all rows.
func (x *runExport) importedRows(table source.Table) ([]source.Row, error) {
	if !x.Imported || x.Peer.Pass.Rows == "" {
		return nil, nil
	}
	last, err := stored.LastImported(x.store, x.Entry)
	if err != nil {
		return nil, err
	}
	then, err := stored.FactsAt(last)
	if err != nil {
		return nil, err
	}
	predicted, err := tables.Predict(then, table, x.Peer.Columns())
	if err != nil {
		return nil, err
	}
	return dbrow.Restore(table, predicted, x.Peer.Tables[table.Name], x.Row.ID, dbrow.Root(x.req.Root))
}

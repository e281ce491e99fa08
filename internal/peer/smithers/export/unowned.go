package export

import (
	"github.com/git-smithers/git-smithers/internal/peer/smithers/dbrow"
	"github.com/git-smithers/git-smithers/internal/peer/smithers/source"
)

// unownedRows counts the rows of tables that belong to no run in a database, by table and by the whole row,
// as dbrow.KeepOne writes it.
type unownedRows map[string]map[string]int

// put adds to table those of rows that the table lacks. The rows belong to no run. Equal rows count separately: if rows
// has a row three times and the table has an equal row once, put adds two rows. put skips a row whose primary key is
// already in the table. Afterwards, u also counts the added rows.
func (u unownedRows) put(tx *source.WriteTx, table source.Table, rows []source.Row) error {
	have, err := u.of(tx, table)
	if err != nil {
		return err
	}
	want := make(map[string]int)
	for _, row := range rows {
		key, err := dbrow.KeepOne(table, row, "")
		if err != nil {
			return err
		}
		if want[string(key)]++; have[string(key)] >= want[string(key)] {
			continue
		}
		isNew, err := tx.InsertIfNew(table.Name, row)
		if err != nil {
			return err
		}
		if isNew {
			have[string(key)]++
		}
	}
	return nil
}

// of returns how many equal rows a table has, by the row as dbrow.KeepOne writes it. The first call for a table reads the table and
// stores the counts in u. put changes these counts when it adds rows.
func (u unownedRows) of(tx *source.WriteTx, table source.Table) (map[string]int, error) {
	if have, ok := u[table.Name]; ok {
		return have, nil
	}
	have := make(map[string]int)
	for row, err := range tx.Rows(table.Name) {
		if err != nil {
			return nil, err
		}
		key, err := dbrow.KeepOne(table, row, "")
		if err != nil {
			return nil, err
		}
		have[string(key)]++
	}
	u[table.Name] = have
	return have, nil
}

package source

import (
	"slices"
	"strings"
)

// Later returns the later rows of a run: the rows whose value in a column is greater than or equal to least, in the
// order of the column. table, run and column are names. before is the number of the run's other rows. If the table is
// missing, or if the columns of its primary key are not run_id and column, ok is false and rows is nil.
func (t *Tx) Later(table, run, column string, least int64) (rows []Row, before int64, ok bool, err error) {
	in := t.Table(table)
	where, args, has := ofRun(in, run)
	if !has || len(args) == 0 || !slices.EqualFunc(in.key(), []string{"run_id", column}, equalName) {
		return nil, 0, false, nil
	}
	query := selectFrom(in) + where + " AND " + quote(column) + " >= ? ORDER BY " + strings.Join(quoteAll(in.key()), ", ")
	for row, err := range t.query(in, query, append(args, least)...) {
		if err != nil {
			return nil, 0, false, err
		}
		rows = append(rows, row)
	}
	all, err := t.Count(table, run)
	return rows, all - int64(len(rows)), err == nil, err
}

// LaterHeads returns the heads of the run's snapshots whose frame number is first or greater, sorted by frame. before
// is the number of the run's other snapshots.
func (t *Tx) LaterHeads(run string, first int64) (heads []Head, before int64, err error) {
	if heads, err = t.heads(run, " AND frame_no >= ?", first); err != nil {
		return nil, 0, err
	}
	all, err := t.Count(snapshotsTable, run)
	return heads, all - int64(len(heads)), err
}

// SettledRange distinguishes the finished rows of a run from the rows that may still change. A row is settled if
// its value in Column is an integer from 0 to Most.
type SettledRange struct {
	Column string
	Most   int64
}

// has reports whether row is settled: see Settled.
func (s SettledRange) has(row Row) bool {
	v := row[s.Column]
	return v.Kind == Int && v.Int >= 0 && v.Int <= s.Most
}

// condition returns the SQL condition that is true for a settled row. Its only parameter is s.Most.
func (s SettledRange) condition() string {
	name := quote(s.Column)
	return "(typeof(" + name + ") = 'integer' AND " + name + " BETWEEN 0 AND ?)"
}

// Unsettled returns the rows of a run in a table that are not settled, in the order of the primary key. by defines
// the settled rows. If the table, its run_id or by.Column does not exist, the result is nil.
func (t *Tx) Unsettled(table, run string, by SettledRange) (rows []Row, err error) {
	in := t.Table(table)
	where, args, has := ofRun(in, run)
	if !has || !in.has(by.Column) {
		return nil, nil
	}
	query := selectFrom(in) + where + " AND NOT " + by.condition() + " ORDER BY " + strings.Join(quoteAll(in.key()), ", ")
	for row, err := range t.query(in, query, append(args, by.Most)...) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Tally is a cheap fingerprint of a set of rows. Rows is the number of rows. Sums has one number for each of some
// columns: the sum of the column's weights, see weight. Equal tallies do not prove equal rows.
type Tally struct {
	Rows int64
	Sums []int64
}

// Equal reports whether t and other have the same number of rows and the same sums.
func (t Tally) Equal(other Tally) bool {
	return t.Rows == other.Rows && slices.Equal(t.Sums, other.Sums)
}

// TallyOf returns the tally of the settled rows in rows. by defines which rows are settled. The tally has a sum for
// each of columns.
func TallyOf(rows []Row, by SettledRange, columns []string) Tally {
	tally := Tally{Sums: make([]int64, len(columns))}
	for _, row := range rows {
		if !by.has(row) {
			continue
		}
		tally.Rows++
		for i, column := range columns {
			tally.Sums[i] += weight(row[column])
		}
	}
	return tally
}

// Plus returns the tally of the rows of t and other together. Both must have sums for the same columns.
func (t Tally) Plus(other Tally) Tally {
	sum := Tally{Rows: t.Rows + other.Rows, Sums: slices.Clone(t.Sums)}
	for i, n := range other.Sums {
		sum.Sums[i] += n
	}
	return sum
}

// lowBits selects the bits of an integer that a Tally counts, so that no sum overflows. Tx.Tally has the same number in
// SQL.
const lowBits = 1<<32 - 1

// weight returns the number that the value v adds to a sum of a Tally: the low 32 bits of an integer, or the
// length in bytes of a text or a blob. NULL and REAL add 0.
func weight(v Value) int64 {
	switch v.Kind {
	case Int:
		return v.Int & lowBits
	case Text, Blob:
		return int64(len(v.Bytes))
	case Null, Real: // do not count
	}
	return 0
}

// Tally returns the tally of a run's settled rows in a table, with a sum for each of columns. by defines the
// settled rows. ok is false if the table does not exist or lacks run_id, by.Column or one of columns.
func (t *Tx) Tally(table, run string, by SettledRange, columns []string) (tally Tally, ok bool, err error) {
	in := t.Table(table)
	where, args, has := ofRun(in, run)
	if !has || !in.has(columns...) || !in.has(by.Column) {
		return Tally{}, false, nil
	}
	var query strings.Builder
	query.WriteString("SELECT count(*)")
	tally.Sums = make([]int64, len(columns))
	into := []any{&tally.Rows}
	for i, column := range columns {
		name := quote(column)
		// Each sum adds the same numbers as weight.
		query.WriteString(", coalesce(sum(CASE typeof(" + name + ") WHEN 'integer' THEN " + name + " & 4294967295" +
			" WHEN 'text' THEN octet_length(" + name + ") WHEN 'blob' THEN octet_length(" + name + ") END), 0)")
		into = append(into, &tally.Sums[i])
	}
	query.WriteString(" FROM " + quote(in.Name) + where + " AND " + by.condition())
	err = t.conn.QueryRowContext(t.ctx, query.String(), append(args, by.Most)...).Scan(into...)
	return tally, err == nil, explain(err)
}

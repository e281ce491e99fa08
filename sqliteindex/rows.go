package sqliteindex

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/git-smithers/git-smithers/objstore"
)

// queryer is a database or a transaction that can run a query.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// list runs a query on the index (see [Index.answer]) and returns all rows, as collect does.
func list[T any](ctx context.Context, x *Index, query string, args ...any) ([]T, error) {
	var all []T
	err := x.answer(ctx, func(db *database) (err error) {
		all, err = collect[T](ctx, db, query, args...)
		return err
	})
	return all, err
}

// collect runs a query on q and returns all rows. If T is a struct, its fields have the values of the columns, in their
// order; otherwise, the query has one column. If a value does not fit, collect stops and returns scanError of the error.
func collect[T any](ctx context.Context, q queryer, query string, args ...any) (all []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var row T
	places := placesIn(reflect.ValueOf(&row).Elem())
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return nil, scanError(err)
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// placesIn returns the places for the values of a row in v: v itself or, if v is a struct, its fields. Fields of an
// embedded struct count as fields of v.
func placesIn(v reflect.Value) []any {
	switch place := v.Addr().Interface().(type) {
	case *objstore.ID:
		return []any{idPlace{place}}
	case *json.RawMessage:
		return []any{(*[]byte)(place)}
	case *[]objstore.ID:
		return []any{definitionsPlace{place}}
	case *[]string:
		return []any{idsPlace{place}}
	default:
		if v.Kind() != reflect.Struct {
			return []any{place}
		}
	}
	var places []any
	for _, field := range v.Fields() {
		places = append(places, placesIn(field)...)
	}
	return places
}

// idPlace is the place for an object id. NULL and an empty text are the zero id.
type idPlace struct{ id *objstore.ID }

// Scan implements [sql.Scanner].
func (p idPlace) Scan(value any) (err error) {
	*p.id = objstore.ID{}
	if text, _ := value.(string); text != "" {
		*p.id, err = objstore.ParseID(text)
	}
	return err
}

// idsPlace is the place for the ids of a frame, which sqlIDsOfFrame joins.
type idsPlace struct{ ids *[]string }

// Scan implements [sql.Scanner].
func (p idsPlace) Scan(value any) (err error) {
	text, _ := value.(string)
	*p.ids, err = parseIDs(text)
	return err
}

// definitionsPlace is the place for the ids of workflow definitions, which workflowSet.text joins.
type definitionsPlace struct{ ids *[]objstore.ID }

// Scan implements [sql.Scanner].
func (p definitionsPlace) Scan(value any) (err error) {
	text, _ := value.(string)
	*p.ids, err = parseDefinitions(text)
	return err
}

// scanError returns the error of scanning a row. If neither SQLite nor the context caused err, the row is
// damaged, and the result wraps errDamaged.
func scanError(err error) error {
	if code(err) != 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", errDamaged, err)
}

// first returns the first element of rows. If rows is empty or err is not nil, ok is false. first returns err
// unchanged.
func first[T any](rows []T, err error) (row T, ok bool, _ error) {
	if err != nil || len(rows) == 0 {
		return row, false, err
	}
	return rows[0], true, nil
}

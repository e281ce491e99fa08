package source

import (
	"context"
	"errors"
)

// WriteWithoutLinks is Write in a file system that has no hard links.
func WriteWithoutLinks(ctx context.Context, path string, write func(*WriteTx) error) error {
	return writeLinking(ctx, path, func(string, string) error { return errors.ErrUnsupported }, write)
}

// Copy copies the database at path and its log, and removes the copies.
func Copy(path string) error {
	d, err := file{path}.copy()
	if err != nil {
		return err
	}
	return d.remove()
}

package page

import (
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/git-smithers/git-smithers/objstore"
)

// pagesPerReader is the number of pages for which it pays to start another goroutine.
const pagesPerReader = 16

// allPages returns the rows of every page, in the order of page numbers. In a large collection, most of the
// time is spent inflating and checking pages, so several goroutines share the work.
func (d *directory) allPages() ([][]line, error) {
	if d.small != nil {
		lines, err := d.page(0)
		return [][]line{lines}, err
	}
	ids := make([]objstore.ID, d.pages)
	for index := range ids {
		var err error
		if ids[index], err = d.id(position{0, index}); err != nil {
			return nil, err
		}
	}
	pages := make([][]line, d.pages)
	readers := max(1, min(runtime.GOMAXPROCS(0), d.pages/pagesPerReader))
	var group errgroup.Group
	for first := range readers {
		group.Go(func() error {
			for index := first; index < d.pages; index += readers {
				data, err := objstore.GetBlob(d.r, ids[index], maxPage)
				if err != nil {
					return err
				}
				if pages[index], err = d.decode(ids[index], data, index); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return pages, group.Wait()
}

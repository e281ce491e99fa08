package display

import (
	"fmt"

	"github.com/git-smithers/git-smithers/internal/plain"
)

// Size formats a number of bytes for people, such as "12 bytes" or "1.5 KiB". The largest unit is TiB.
func Size(bytes int64) string {
	const step = 1024
	if bytes < step {
		return plain.Count(int(bytes), "byte")
	}
	size, unit := float64(bytes)/step, 0
	for size >= step && unit < 3 {
		size, unit = size/step, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[unit]) // unit 3 is TiB
}

package fault

// Codes lists every code with its exit status.
func Codes() map[Code]int { return exits }

package gitexec

// Settled is how long a file that changed then is not remembered.
var Settled = settled

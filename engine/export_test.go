package engine

// RunParsed is Run without anybody's consent, for tests whose workflows are their own.
var RunParsed = run

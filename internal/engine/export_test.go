package engine

// RunParsed is Run without consent, for tests that run workflows of their own.
var RunParsed = run

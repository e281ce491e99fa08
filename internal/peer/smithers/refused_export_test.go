package smithers

// Refused is why a run is not imported.
func Refused(run string, err error) error { return refused(run, err) }

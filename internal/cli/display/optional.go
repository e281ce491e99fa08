package display

// OrEmpty returns *s, or "" if s is nil.
func OrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// OrNull returns a pointer to text, or nil if text is "".
func OrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

package display

// OrEmpty is "" for nil.
func OrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// OrNull is nil for "".
func OrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

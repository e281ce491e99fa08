package arg

// OtherWords exposes otherWords.
var OtherWords = otherWords

// slug turns a title into a path segment.
export function slug(title, options = {}) {
  const { separator = "-", lower = true, max = 80 } = options;
  let s = title.normalize("NFKD").replace(/[\u0300-\u036f]/g, "");
  if (lower) s = s.toLowerCase();
  s = s.replace(/[^a-zA-Z0-9]/g, separator);
  return s.slice(0, max);
}

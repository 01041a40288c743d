/** Strips the slashes at the end of a path or URL, in linear time (`/\/+$/` is quadratic in the slashes before another character). */
export function trimEndingSlashes(text: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === '/') end--
  return text.slice(0, end)
}

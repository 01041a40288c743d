/** How far discovery goes for one sales channel. Real shops stay far below; hostile or broken input ends here. */
export interface DiscoveryLimits {
  /** An index may list indexes, this deep. */
  indexDepth: number
  /** Sitemap files read. */
  files: number
  /** Bytes of one file, decompressed. */
  fileBytes: number
  /** Decompressed bytes for each compressed one, counted once a file is past `ratioFrom` bytes. Sitemaps reach 50. */
  ratio: number
  ratioFrom: number
  /** URLs kept. */
  urls: number
  /** Entries read, with duplicates and those of other channels. */
  entries: number
  elementDepth: number
  /** Characters of one location (sitemaps.org). */
  locLength: number
  /** Characters without the end of a tag: the longest comment, text or attribute that is taken. */
  tagDistance: number
  redirects: number
  /** Files that are no honest sitemap (bomb, DOCTYPE, nesting) before the channel's discovery is given up. */
  hostileFiles: number
  /** Bytes of robots.txt that are read (RFC 9309 §2.5). */
  robotsBytes: number
  /** Errors kept word for word. */
  errors: number
}

export const defaultLimits: DiscoveryLimits = {
  indexDepth: 3,
  files: 1000,
  fileBytes: 100 * 1024 * 1024,
  ratio: 200,
  ratioFrom: 8 * 1024 * 1024,
  urls: 1_000_000,
  entries: 5_000_000,
  elementDepth: 100,
  locLength: 2048,
  tagDistance: 64 * 1024,
  redirects: 5,
  hostileFiles: 10,
  robotsBytes: 500 * 1024,
  errors: 100,
}

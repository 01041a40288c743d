/** Limits of discovery for one sales channel. Real shops stay far below; they stop hostile or broken input. */
export interface DiscoveryLimits {
  /** How deep indexes may list further indexes. */
  indexDepth: number
  /** Sitemap files read. */
  files: number
  /** Bytes of one file, decompressed. */
  fileBytes: number
  /** Decompressed bytes per compressed byte, checked from `ratioFrom` decompressed bytes on. Real sitemaps reach 50. */
  ratio: number
  ratioFrom: number
  /** URLs kept. */
  urls: number
  /** Entries read, including duplicates and URLs of other channels. */
  entries: number
  elementDepth: number
  /** Characters per URL (sitemaps.org). */
  locLength: number
  /** Characters between two tags: the longest comment, text or attribute accepted. */
  tagDistance: number
  redirects: number
  /** Hostile files (bomb, DOCTYPE, deep nesting) after which the discovery of the channel ends. */
  hostileFiles: number
  /** Bytes of robots.txt that are read (RFC 9309 §2.5). */
  robotsBytes: number
  /** Error messages kept. */
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

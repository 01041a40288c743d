/**
 * A sitemap file that could not be read completely. `hostile`: it looks like an attack or is no sitemap at all; a few of these end
 * the discovery of their channel.
 */
export class SitemapError extends Error {
  readonly hostile: boolean

  constructor(message: string, options: { hostile?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'SitemapError'
    this.hostile = options.hostile ?? false
  }
}

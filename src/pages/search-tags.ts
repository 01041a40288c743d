/**
 * Tags of pages that also answer other queries of their path, because the shop said so with No-Vary-Search
 * (docs/decisions/0088-no-vary-search.md). A purge of a URL does not know which of these pages answers it.
 */
export const sharedAmongQueries = 'no-vary-search'

/** The tag of the pages of a URL's path; null for a URL without a query, which only the page of that URL answers. */
export function searchTagOf(url: string): string | null {
  const mark = url.indexOf('?')
  return mark < 0 ? null : pathTag(url.slice(0, mark))
}

/** The tags of a page that also answers other queries than its URL's. */
export function searchTags(url: string): string[] {
  return [sharedAmongQueries, pathTag(url.split('?', 1)[0]!)]
}

/** The tags of the pages that may answer any of these URLs. */
export function searchTagsOf(urls: readonly string[]): string[] {
  return [...new Set(urls.flatMap((url) => searchTagOf(url) ?? []))]
}

function pathTag(path: string): string {
  return `${sharedAmongQueries}:${path}`
}

import type { Assembly } from '../../pages/memory-entry.ts'
import type { HeaderPair, Page } from '../../pages/page.ts'
import type { Forwarded } from '../cache-status.ts'
import type { Fragment, Omission } from './fragments.ts'

/** The most reasons that a note names. */
const mostReasons = 3

export interface Limits {
  /** Fragments, those within fragments counted too. */
  count: number
  bytes: number
  /** Whether the page is itself a fragment. */
  isNested: boolean
}

export interface Joined {
  body: Buffer
  assembly: Assembly
  /** False when a part may not be shared, or is missing or replaced because it failed. */
  shareable: boolean
  /** Those of each fragment. */
  cookies: HeaderPair[][]
  /** Null: the cache had all fragments. */
  forwarded: Forwarded | null
  /** What was left out of this page itself; null for nothing. */
  omitted: string | null
}

/** Joins the text of a template and its fragments, as far as the limits allow. */
export function join(template: Page, pieces: readonly (Buffer | Fragment | Omission)[], limits: Limits): Joined {
  const texts: Buffer[] = []
  const fragments: Fragment[] = []
  const omissions: Omission[] = []
  let count = 0
  let size = pieces.reduce((sum, piece) => sum + (Buffer.isBuffer(piece) ? piece.length : 0), 0)
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) {
      texts.push(piece)
      continue
    }
    if (piece.kind === 'omission') {
      omissions.push(piece)
      continue
    }
    if (piece.insteadOf !== undefined) omissions.push(piece.insteadOf)
    const inside = 1 + (piece.held?.assembly?.count ?? 0)
    if (count + inside > limits.count || size + piece.bytes.length > limits.bytes) {
      omissions.push(
        cutOff(piece, count + inside > limits.count ? 'too many fragments' : 'the page is too large', limits),
      )
      continue
    }
    count += inside
    size += piece.bytes.length
    texts.push(piece.bytes)
    fragments.push(piece)
  }
  return {
    body: Buffer.concat(texts),
    assembly: toAssembly(template, fragments, omissions, count),
    shareable: fragments.every(({ held }) => held !== null) && !omissions.some(({ failed }) => failed),
    cookies: fragments.map(({ cookies }) => cookies),
    forwarded: ofShop([...fragments, ...omissions].flatMap(({ forwarded }) => forwarded ?? [])),
    omitted: noteOf(omissions.map(({ why }) => why)),
  }
}

function cutOff({ path, forwarded }: Fragment, excess: string, { isNested }: Limits): Omission {
  return { kind: 'omission', why: `${path} removed: ${excess}`, failed: false, isCut: isNested, forwarded }
}

/** Of several requests to the shop, one that it answered says most. */
function ofShop(all: readonly Forwarded[]): Forwarded | null {
  return all.find(({ status }) => status !== undefined) ?? all[0] ?? null
}

function toAssembly(
  template: Page,
  fragments: readonly Fragment[],
  omissions: readonly Omission[],
  count: number,
): Assembly {
  const inner = fragments.flatMap(({ held }) => held?.assembly ?? [])
  const height = (assembly: Assembly | undefined) => 1 + (assembly?.height ?? 0)
  const reasons = [
    ...omissions.map(({ why }) => why),
    ...fragments.flatMap(({ held, path }) => (held === null ? [`${path} is private`] : [])),
    ...inner.flatMap(({ note }) => note ?? []),
  ]
  return {
    parts: [template, ...fragments.flatMap(({ held }) => (held === null ? [] : (held.assembly?.parts ?? [held.page])))],
    count,
    height: Math.max(0, ...fragments.map(({ held }) => height(held?.assembly))),
    isCut: omissions.some(({ isCut }) => isCut) || inner.some(({ isCut }) => isCut),
    note: noteOf(reasons),
  }
}

function noteOf(reasons: readonly string[]): string | null {
  const different = [...new Set(reasons)]
  const rest = different.length - mostReasons
  const named = [...different.slice(0, mostReasons), ...(rest > 0 ? [`${rest} more`] : [])]
  return named.length === 0 ? null : named.join(', ')
}

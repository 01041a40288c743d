import { formatBytes } from '../lib/format-bytes.ts'
import { formatDuration } from '../lib/format.ts'
import type { ValueOf } from '../operations/operation.ts'
import type { inspectPage } from '../operations/inspect.ts'
import type { Cell, Output } from './output.ts'

type Inspection = ValueOf<typeof inspectPage>

/** Prints why a page is or is not cached, what to do, and each stored variant. */
export async function presentInspection(value: Inspection, output: Output): Promise<void> {
  output.pairs([
    ['url', value.url],
    ['cached', value.cached ? 'yes' : 'no'],
    ...(value.node === undefined ? [] : [['node', value.node] as [string, Cell]]),
  ])
  await output.hanging('reason: ', value.reason, value.cached ? 'green' : 'yellow')
  if (value.remedy !== null) await output.hanging('do:     ', value.remedy)
  output.line()
  for (const sentence of value.explanation) await output.hanging('', sentence)
  for (const page of value.pages) presentPage(page, output)
  if (value.headers !== undefined) {
    output.line()
    output.prose("The shop's response:")
    presentHeaders(value.headers, output)
  }
}

function presentPage(page: Inspection['pages'][number], output: Output): void {
  const { freshnessLeft, headers = [] } = page
  output.line()
  output.pairs([
    // The parts of the key are on separate lines.
    ['key', page.key.replaceAll('\n', '; ')],
    ['variant', page.variant || 'every visitor'],
    ['type', page.type],
    ['tags', page.tags.join(' ') || null],
    ['status', page.status],
    ['stored', page.storedAt],
    ['age', formatDuration(page.age)],
    [page.state, `${freshnessLeft < 0 ? 'for' : 'for another'} ${formatDuration(Math.abs(freshnessLeft))}`],
    ['hits', page.hits],
    ['size', `${formatBytes(page.size)} ${page.encoding}, ${formatBytes(page.originalSize)} uncompressed`],
  ])
  presentHeaders(headers, output)
}

function presentHeaders(headers: readonly { name: string; value: string }[], output: Output): void {
  output.pairs(headers.map(({ name, value }): [string, Cell] => [`  ${name}`, value]))
}

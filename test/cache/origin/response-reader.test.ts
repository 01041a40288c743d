import { Duplex } from 'node:stream'
import { Client, type Dispatcher } from 'undici'
import { expect, it } from 'vitest'
import { ResponseReader, type ReaderEvents } from '../../../src/cache/origin/response-reader.ts'
import { random } from '../../helpers/random.ts'
import { methods, response } from './responses.ts'

const seed = Number(process.env['FUZZ_SEED'] ?? 1)
const cases = Number(process.env['FUZZ_CASES'] ?? 4000)

/** What became of a response. `headers` has a line for each field. */
interface Outcome {
  end: 'end' | 'odd' | 'broken' | 'cut'
  status: number
  headers: string[]
  interim: number[]
  body: string
  /** Bytes after the response, or from where it is odd. */
  rest: string
}

/** Reads a response with our reader, in pieces that are overwritten afterwards, as the memory of a connection is. */
function readOurs(pieces: readonly string[], method: string): Outcome {
  const outcome: Outcome = { end: 'cut', status: 0, headers: [], interim: [], body: '', rest: '' }
  const events: ReaderEvents = {
    onInterim: ({ status }) => void outcome.interim.push(status),
    onHead: ({ status, headers }) => {
      outcome.status = status
      outcome.headers = headers.map(([name, value]) => `${name}: ${value}`)
      return true
    },
    onData: (piece) => void (outcome.body += piece.toString('latin1')),
  }
  const reader = new ResponseReader(events)
  reader.begin(method)
  for (const [index, piece] of pieces.entries()) {
    const bytes = Buffer.from(piece, 'latin1')
    const progress = reader.read(bytes)
    const rest = reader.rest.toString('latin1')
    bytes.fill('#')
    if (progress === 'more') continue
    if (progress === 'broken') return { ...outcome, end: progress }
    return { ...outcome, end: progress, rest: rest + pieces.slice(index + 1).join('') }
  }
  return outcome
}

/** A connection on which a shop sends a text once it has got a request, and then ends. */
class Shop extends Duplex {
  readonly #text: string

  constructor(text: string) {
    super()
    this.#text = text
    this.on('error', () => {})
  }

  override _read(): void {}

  override _write(_: Buffer, __: string, done: () => void): void {
    done()
    setImmediate(() => {
      this.push(Buffer.from(this.#text, 'latin1'))
      this.push(null)
    })
  }

  ref(): void {}
  unref(): void {}
}

function readByUndici(text: string, method: string): Promise<Outcome> {
  const outcome: Outcome = { end: 'cut', status: 0, headers: [], interim: [], body: '', rest: '' }
  const client = new Client('http://shop', {
    maxHeaderSize: 1 << 20,
    connect: (_, done) => setImmediate(() => done(null, new Shop(text) as never)),
  })
  return new Promise((resolve) => {
    const finish = (end: Outcome['end']) => {
      outcome.end = end
      resolve(outcome)
      client.destroy().catch(() => {})
    }
    client.dispatch(
      { path: '/', method: method as Dispatcher.HttpMethod },
      {
        onRequestStart: () => {},
        onResponseStart: (controller, status) => {
          if (status < 200) return void outcome.interim.push(status)
          outcome.status = status
          const raw = (controller.rawHeaders as Buffer[]).map((each) => each.toString('latin1'))
          for (let at = 0; at < raw.length; at += 2)
            outcome.headers.push(`${raw[at]}: ${raw[at + 1]!.replace(/[\t ]+$/, '')}`)
        },
        onResponseData: (_, piece) => void (outcome.body += piece.toString('latin1')),
        onResponseEnd: () => finish('end'),
        onResponseError: () => finish('broken'),
      },
    )
  })
}

const next = random(seed)
const all = Array.from({ length: cases }, () => ({
  method: methods[Math.floor(next() * methods.length)]!,
  text: response(next),
}))

/** undici rejects an unasked 100 (Continue), which RFC 9110 §15.2 has a client ignore, and blanks behind a length (RFC 9112 §5). */
const asUndiciReads = (text: string) =>
  text.replace(/HTTP\/1\.1 100 Continue\r\n\r\n/g, '').replace(/(\r\ncontent-length:[\t ]*\d+)[\t ]+(?=\r\n)/gi, '$1')

it(
  `${cases} responses of seed ${seed} that our reader accepts mean the same to undici`,
  { timeout: 300_000 + cases * 20 },
  async () => {
    const found: unknown[] = []
    const ends = { end: 0, odd: 0, broken: 0, cut: 0 }
    for (const { method, text } of all) {
      const ours = readOurs([text], method)
      ends[ours.end] += 1
      if (ours.end === 'odd') continue
      const theirs = await readByUndici(asUndiciReads(text), method)
      const { status, headers, body } = theirs
      const interim = ours.interim.filter((each) => each !== 100)
      // A response that ends early may still have shown its head and the beginning of its body.
      const same =
        ours.end === 'end'
          ? theirs.end === 'end' &&
            JSON.stringify([ours.status, ours.headers, ours.body, interim]) ===
              JSON.stringify([status, headers, body, theirs.interim])
          : theirs.end !== 'end'
      if (!same) found.push({ method, text, ours, theirs })
      if (found.length >= 3) break
    }
    expect(found).toEqual([])
    // Otherwise most responses would go to undici, and the comparison would say nothing.
    expect(ends.end).toBeGreaterThan(cases / 3)
    expect(ends.odd).toBeGreaterThan(cases / 20)
    expect(ends.broken + ends.cut).toBeGreaterThan(cases / 50)
  },
)

it('a response means the same however it is cut', { timeout: 300_000 + cases * 20 }, () => {
  const found: unknown[] = []
  for (const [index, { method, text }] of all.entries()) {
    const whole = readOurs([text], method)
    const ways = [text.length > 2000 ? [text] : text.split('')]
    for (let at = 1; at < Math.min(text.length, index < cases / 8 ? 600 : 0); at++)
      ways.push([text.slice(0, at), text.slice(at)])
    for (const pieces of ways) {
      const other = readOurs(pieces, method)
      if (JSON.stringify(whole) !== JSON.stringify(other)) found.push({ method, pieces, whole, other })
    }
    if (found.length >= 3) break
  }
  expect(found).toEqual([])
})

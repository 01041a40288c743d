import { connect, type Socket } from 'node:net'

/** Most tags of one request. */
const maxTags = 50

/** The bytes of a request as Shopware's gateway sends it, with Guzzle on curl: no body, and the Host of the proxy, not of the shop. */
export function gatewayRequest(
  method: 'PURGE' | 'BAN',
  target: string,
  host: string,
  tags: readonly string[] = [],
): string {
  const xkey = tags.length === 0 ? '' : `xkey: ${tags.join(' ')}\r\n`
  return `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: GuzzleHttp/7\r\n${xkey}\r\n`
}

interface GatewayOptions {
  /** URLs of the reverse proxies (`shopware.http_cache.reverse_proxy.hosts`). */
  hosts: readonly string[]
  onError(message: string): void
}

/**
 * Shopware's gateway to Varnish: gathers tags and sends them fifty at a time, URLs one by one, and `BAN /` for everything. It sends each
 * request once; what a proxy did not accept is reported and lost.
 */
export class VarnishGateway {
  readonly #options: GatewayOptions
  readonly #tags = new Set<string>()

  constructor(options: GatewayOptions) {
    this.#options = options
  }

  async invalidate(tags: readonly string[]): Promise<void> {
    for (const tag of tags) this.#tags.add(tag)
    if (this.#tags.size >= maxTags) await this.flush()
  }

  async flush(): Promise<void> {
    const tags = [...this.#tags]
    this.#tags.clear()
    for (let first = 0; first < tags.length; first += maxTags)
      await this.#send((host) => gatewayRequest('PURGE', '/', host, tags.slice(first, first + maxTags)))
  }

  async ban(targets: readonly string[]): Promise<void> {
    for (const target of targets) await this.#send((host) => gatewayRequest('PURGE', target, host))
  }

  async banAll(): Promise<void> {
    await this.#send((host) => gatewayRequest('BAN', '/', host))
  }

  async #send(toRequest: (host: string) => string): Promise<void> {
    const sent = this.#options.hosts.map((url) => exchange(new URL(url), toRequest))
    for (const result of await Promise.allSettled(sent))
      if (result.status === 'rejected')
        this.#options.onError(`Error while flushing varnish cache: ${String(result.reason)}`)
  }
}

/** Milliseconds. Guzzle itself waits without end. */
const timeout = 10_000

/** Sends a request and resolves if the answer is no error. */
async function exchange({ hostname, port, host }: URL, toRequest: (host: string) => string): Promise<void> {
  const socket = connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ''))
  try {
    const head = await answerOf(socket, toRequest(host))
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0)
    if (status === 0 || status >= 400) throw new Error(head.split('\r\n', 1)[0])
  } finally {
    socket.destroy()
  }
}

function answerOf(socket: Socket, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    socket.setTimeout(timeout, () => reject(new Error(`no answer within ${timeout / 1000} s`)))
    socket.once('error', reject).once('close', () => reject(new Error('the connection was closed')))
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk
      if (answer.includes('\r\n\r\n')) resolve(answer)
    })
    socket.write(request)
  })
}

import { isatty } from 'node:tty'

/**
 * Handles SIGHUP. It requests a reload, except when the daemon's terminal was closed, which ends the daemon as usual. Listens from the very
 * start: an unhandled SIGHUP ends the process, and a service manager does not know when the daemon is ready.
 */
export class Hangup {
  #pending = false
  #reload: (() => Promise<void>) | null = null
  readonly #isClosed: () => boolean
  readonly #listener = () => {
    if (this.#isClosed()) this.#end()
    else if (this.#reload === null) this.#pending = true
    else void this.#reload()
  }

  /** @param isClosed whether the daemon had a terminal that is closed now */
  constructor(isClosed: () => boolean = terminalWatch()) {
    this.#isClosed = isClosed
    process.on('SIGHUP', this.#listener)
  }

  /** Sets how to reload. Reloads at once if that was requested before. */
  onReload(reload: () => Promise<void>): void {
    this.#reload = reload
    if (this.#pending) void reload()
  }

  release(): void {
    process.off('SIGHUP', this.#listener)
  }

  #end(): void {
    this.release()
    process.kill(process.pid, 'SIGHUP')
  }
}

/** A closed terminal answers no request, so it no longer counts as one. */
function terminalWatch(): () => boolean {
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor))
  return () => terminals.length > 0 && terminals.every((descriptor) => !isatty(descriptor))
}

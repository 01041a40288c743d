/**
 * Handles SIGHUP. It requests a reload, except on a terminal, where it ends the daemon as usual. Listens from the very start: an unhandled
 * SIGHUP ends the process, and a service manager does not know when the daemon is ready.
 */
export class Hangup {
  #pending = false
  #reload: (() => Promise<void>) | null = null
  readonly #listener = () => {
    if (this.#reload === null) this.#pending = true
    else void this.#reload()
  }

  /** @param terminal whether the daemon runs on a terminal */
  constructor(terminal: boolean) {
    if (!terminal) process.on('SIGHUP', this.#listener)
  }

  /** Sets how to reload. Reloads at once if that was requested before. */
  onReload(reload: () => Promise<void>): void {
    this.#reload = reload
    if (this.#pending) void reload()
  }

  release(): void {
    process.off('SIGHUP', this.#listener)
  }
}
